// Calls every operation with the generated client and fails at the first response that it
// does not expect. The store must be empty.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { operations } from "./petstore.js";
import { addPet, allPets, connect, Copy, correctPet, follow, followChanges, removePet, type Change, type Pet, type Store } from "./store.js";

const { URL: url = "", KEY: key = "" } = process.env;
const api = connect(url, key);
const copy = new Copy();
await copy.update(api);
const pets = await addPets(api);
await listPets(api, pets);
await getPet(api, pets[0]);
await orderPets(api, pets[0], pets[1]);
await listOrders(api, pets[0], pets[1]);
await correctPets(api, pets);
await callWithoutValidKey();
await sendUnsafeInteger(api);
await addWhileUnavailable();
await follow5Changes(api);
await copy.update(api);
assert.deepEqual([...copy.pets.values()], await allPets(api));

// addPets adds Rex, repeats that with the same idempotency key, and adds two more in one request.
async function addPets(api: Store): Promise<[Pet, Pet, Pet]> {
  const newRex = { name: "Rex", categoryId: Number.MAX_SAFE_INTEGER, status: "available" } as const;
  const rex = await addPet(api, "rex-1", newRex);
  assert.deepEqual(rex, { id: rex.id, ...newRex });

  const replayed = await api.POST("/pets", { params: { header: { "Idempotency-Key": "rex-1" } }, body: newRex });
  assert.equal(replayed.response.status, 201);
  assert.deepEqual(replayed.data, rex);
  assert.equal(replayed.response.headers.get("Idempotency-Replayed"), "true");
  assert.equal(replayed.response.headers.get("Location"), `./pets/${rex.id}`);

  await assert.rejects(addPet(api, "rex-1", { name: "Max", categoryId: 7 }), /idempotency_key_reused/);
  await assert.rejects(addPet(api, "nameless", { name: "", categoryId: 7 }), /validation_failed/);

  const tom = { name: "Tom", categoryId: 0, status: "available" } as const;
  const mia = { name: "Mia", categoryId: -3 };
  const { data: others } = await api.POST("/pets/batch", { body: [tom, mia] });
  assert.deepEqual(others, [{ id: rex.id + 1, ...tom }, { id: rex.id + 2, ...mia }]);
  return [rex, others[0]!, others[1]!];
}

async function listPets(api: Store, pets: Pet[]): Promise<void> {
  for (const limit of [1, 2, 3, 4]) assert.deepEqual(await allPets(api, { limit }), pets);
  assert.deepEqual(await allPets(api, { limit: 1, status: ["available"] }), pets.slice(0, 2));
  assert.deepEqual(await allPets(api, { status: ["available", "none"], sort: "-id" }), pets.toReversed());
  assert.deepEqual(await allPets(api, { id: [pets[2]!.id, 99, pets[0]!.id] }), [pets[0], pets[2]]);

  const page = await api.GET("/pets", { params: { query: { after: pets[0]!.id } } });
  assert.deepEqual(page.data, pets.slice(1));
  const etag = page.response.headers.get("ETag");
  assert.ok(etag);
  const unchanged = await api.GET("/pets", { params: { query: { after: pets[0]!.id }, header: { "If-None-Match": etag } } });
  assert.equal(unchanged.response.status, 304);
  assert.equal(unchanged.data, undefined);

  await assert.rejects(allPets(api, { limit: 101 }), /invalid_parameter/);
}

async function getPet(api: Store, rex: Pet): Promise<void> {
  const found = await api.GET("/pets/{petId}", { params: { path: { petId: rex.id } } });
  assert.deepEqual(found.data, rex);
  assert.equal(found.response.headers.get("Deprecation"), "@1764892800");
  assert.equal(found.response.headers.get("Sunset"), "Thu, 05 Dec 2030 00:00:00 GMT");
  const missing = await api.GET("/pets/{petId}", { params: { path: { petId: 99 } } });
  assert.equal(missing.error?.code, "pet_not_found");
  assert.equal(missing.error?.status, 404);
}

// orderPets delivers an order of Rex and cancels an order of Tom.
async function orderPets(api: Store, rex: Pet, tom: Pet): Promise<void> {
  const order = { params: { header: { "Idempotency-Key": "sell-rex" } }, body: { petId: rex.id } };
  const placed = await api.POST("/store/orders", order);
  assert.equal(placed.response.status, 201);
  assert.ok(placed.data);
  assert.equal(placed.data.petId, rex.id);
  assert.equal(placed.data.status, "placed");
  assert.ok(Math.abs(Date.now() - Date.parse(placed.data.createdAt)) < 60_000);
  const replayed = await api.POST("/store/orders", order);
  assert.deepEqual(replayed.data, placed.data);
  assert.equal(replayed.response.headers.get("Idempotency-Replayed"), "true");

  const unavailable = await api.POST("/store/orders", { body: { petId: rex.id } });
  assert.equal(unavailable.response.status, 409);
  assert.equal(unavailable.error?.code, "pet_not_available");
  const noPet = await api.POST("/store/orders", { body: { petId: 99 } });
  assert.equal(noPet.error?.code, "pet_not_found");

  const first = { params: { path: { orderId: placed.data.id } } };
  assert.deepEqual((await api.GET("/store/orders/{orderId}", first)).data, placed.data);
  const missing = await api.GET("/store/orders/{orderId}", { params: { path: { orderId: 99 } } });
  assert.equal(missing.error?.code, "order_not_found");

  const delivered = await api.POST("/store/orders/{orderId}/deliver", first);
  assert.equal(delivered.data?.status, "delivered");
  assert.deepEqual((await api.POST("/store/orders/{orderId}/deliver", first)).data, delivered.data);
  const cancelDelivered = await api.POST("/store/orders/{orderId}/cancel", first);
  assert.equal(cancelDelivered.error?.code, "order_state_conflict");

  const other = await api.POST("/store/orders", { body: { petId: tom.id } });
  assert.ok(other.data);
  const second = { params: { path: { orderId: other.data.id } } };
  assert.equal((await api.POST("/store/orders/{orderId}/cancel", second)).data?.status, "cancelled");
  assert.equal((await api.POST("/store/orders/{orderId}/deliver", second)).error?.code, "order_state_conflict");

  assert.deepEqual(await allPets(api, { status: ["available"] }), [tom]);
  assert.deepEqual(await allPets(api, { status: ["sold"] }), [{ ...rex, status: "sold" }]);
}

async function listOrders(api: Store, rex: Pet, tom: Pet): Promise<void> {
  const all = await api.GET("/store/orders");
  assert.deepEqual(all.data?.map((order) => order.petId), [rex.id, tom.id]);
  const [first, second] = all.data;
  assert.ok(first && second);
  const queries: [operations["listOrders"]["parameters"]["query"] & {}, typeof first][] = [
    [{ status: ["cancelled"] }, second],
    [{ petId: rex.id }, first],
    [{ petId: rex.id, status: ["delivered", "placed"] }, first],
    [{ after: first.id }, second],
  ];
  for (const [query, order] of queries) {
    const found = await api.GET("/store/orders", { params: { query } });
    assert.deepEqual(found.data, [order]);
    const header = { "If-None-Match": found.response.headers.get("ETag") ?? "" };
    assert.equal((await api.GET("/store/orders", { params: { query, header } })).response.status, 304);
  }
  const page = await api.GET("/store/orders", { params: { query: { limit: 1 } } });
  const next = await api.GET("/store/orders", { fetch: follow(page.response.headers.get("Link") ?? "") });
  assert.deepEqual(next.data, [second]);
  assert.equal(next.response.headers.get("Link"), null);
}

// correctPets adds ten digits to the name of Mia at once, removes Tom, and counts the animals.
async function correctPets(api: Store, [rex, tom, mia]: [Pet, Pet, Pet]): Promise<void> {
  await Promise.all([..."0123456789"].map((digit) => correctPet(api, mia.id, ({ name }) => ({ name: name + digit }))));
  const sold = await correctPet(api, mia.id, ({ name }) => ({ name: [...name].sort().join(""), status: "sold" }));
  assert.deepEqual(sold, { ...mia, name: "0123456789Mai", status: "sold" });
  assert.equal((await correctPet(api, mia.id, () => ({ status: null }))).status, undefined);

  for (const _ of [1, 2]) await removePet(api, tom.id);
  await assert.rejects(removePet(api, rex.id), /pet_ordered/);
  await assert.rejects(correctPet(api, tom.id, () => ({})), /pet_not_found/);
  const { data: inventory } = await api.GET("/store/inventory");
  assert.deepEqual(inventory, { available: 0, pending: 0, sold: 1, none: 1, total: 2 });

  const category = { params: { path: { categoryId: 7 } } };
  assert.equal((await api.PUT("/categories/{categoryId}", { ...category, body: { name: "Dogs" } })).data?.name, "Dogs");
  const { data: categories } = await api.GET("/categories", { params: { query: { after: 6 } } });
  assert.deepEqual(categories?.[0], { id: 7, name: "Dogs", available: 0, pending: 0, sold: 0, none: 0, total: 0 });
  assert.equal((await api.DELETE("/categories/{categoryId}", category)).response.status, 204);
}

// callWithoutValidKey sends requests without an API key and with an invalid one.
async function callWithoutValidKey(): Promise<void> {
  const missing = await connect(url, "").GET("/pets", { headers: { Authorization: null } });
  assert.equal(missing.response.status, 401);
  assert.equal(missing.error?.code, "missing_api_key");
  assert.equal(missing.response.headers.get("WWW-Authenticate"), 'Bearer realm="petstore"');
  const invalid = await connect(url, "petstore_none").POST("/pets", { body: { name: "Rex", categoryId: 7 } });
  assert.equal(invalid.response.status, 401);
  assert.equal(invalid.error?.code, "invalid_api_key");
}

// sendUnsafeInteger checks what docs/clients.md says about integers above 2^53.
async function sendUnsafeInteger(api: Store): Promise<void> {
  const exact = '{"name":"Zoe","categoryId":9007199254740993}';
  const added = await api.POST("/pets", { body: { name: "Zoe", categoryId: 0 }, bodySerializer: () => exact });
  assert.equal(added.data?.categoryId, 9007199254740992);
  const text = await api.GET("/pets", { params: { query: { after: added.data.id - 1 } }, parseAs: "text" });
  assert.match(text.data ?? "", /"categoryId":9007199254740993/);
}

// addWhileUnavailable adds an animal to a service that is not available for the first request.
async function addWhileUnavailable(): Promise<void> {
  const keys: unknown[] = [];
  const service = createServer((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    const [status, body] = keys.length === 1 ? [503, { code: "unavailable", message: "try again", status: 503 }] : [201, { id: 7, name: "Rex", categoryId: 1 }];
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
  const { port } = service.address() as AddressInfo;
  assert.equal((await addPet(connect(`http://127.0.0.1:${port}`, ""), "rex", { name: "Rex", categoryId: 1 })).id, 7);
  assert.deepEqual(keys, ["rex", "rex"]);
  service.close();
  service.closeAllConnections();
}

// follow5Changes follows the first five changes that are kept.
async function follow5Changes(api: Store): Promise<void> {
  const { data } = await api.GET("/changes", { params: { query: { limit: 5 } } });
  const followed: Change[] = [];
  for await (const change of followChanges(api, data![0]!.seq - 1)) if (followed.push(change) === 5) break;
  assert.deepEqual(followed, data);
  await assert.rejects(followChanges(api, 1).next(), /changes_expired/);
}

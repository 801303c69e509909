import createClient, { type Client } from "openapi-fetch";
import type { components, operations, paths } from "./petstore.js";

export type Store = Client<paths, "application/json">; // not text/event-stream, which has no fixed type
export type Pet = components["schemas"]["Pet"];
export type Change = components["schemas"]["Change"];

// connect returns a client that sends the key with every request, and lists in a query with commas.
export function connect(url: string, key: string): Store {
  return createClient<paths, "application/json">({
    baseUrl: `${url}/v1`,
    headers: { Authorization: `Bearer ${key}` },
    querySerializer: { array: { style: "form", explode: false } },
  });
}

// addPet adds an animal. While the service is not available, it repeats the request: requests with the same idempotencyKey
// add one animal. So addPet may also be called again after any error.
export async function addPet(api: Store, idempotencyKey: string, pet: components["schemas"]["NewPet"]): Promise<Pet> {
  for (;;) {
    const { data, error, response } = await api.POST("/pets", { params: { header: { "Idempotency-Key": idempotencyKey } }, body: pet });
    if (data) return data;
    if (response.status !== 503) throw new Error(`${error.code}: ${error.message}`);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

// correctPet corrects an animal with the patch that change returns for it. If the animal was changed meanwhile, it
// begins again.
export async function correctPet(api: Store, petId: number, change: (pet: Pet) => components["schemas"]["PetPatch"]): Promise<Pet> {
  for (;;) {
    const found = await api.PATCH("/pets/{petId}", { params: { path: { petId } }, body: {} }); // changes nothing
    if (found.error) throw new Error(`${found.error.code}: ${found.error.message}`);
    const header = { "If-Match": found.response.headers.get("ETag")! };
    const { data, error } = await api.PATCH("/pets/{petId}", { params: { path: { petId }, header }, body: change(found.data) });
    if (data) return data;
    if (error.code !== "precondition_failed") throw new Error(`${error.code}: ${error.message}`);
  }
}

// removePet removes an animal. It may be called again after any error.
export async function removePet(api: Store, petId: number): Promise<void> {
  const { error } = await api.DELETE("/pets/{petId}", { params: { path: { petId } } });
  if (error && error.code !== "pet_not_found") throw new Error(`${error.code}: ${error.message}`);
}

// allPets reads all pages by following the header Link.
export async function allPets(api: Store, query: operations["listPets"]["parameters"]["query"] = {}): Promise<Pet[]> {
  const pets: Pet[] = [];
  for (let link = ""; ; ) {
    const { data, error, response } = await api.GET("/pets", { params: { query }, fetch: follow(link) });
    if (error) throw new Error(`${error.code}: ${error.message}`);
    pets.push(...data);
    const next = response.headers.get("Link");
    if (next === null) return pets;
    link = next;
  }
}

// follow sends a request to the target of a Link header such as <?after=20>; rel="next".
export function follow(link: string): (request: Request) => Promise<Response> {
  const reference = link.match(/<(.*?)>/)?.[1] ?? "";
  return (request) => fetch(new Request(new URL(reference, request.url), request));
}

// A Copy is a copy of the catalogue. An update makes it exact.
export class Copy {
  pets = new Map<number, Pet>();
  private position = 0; // before the animals are read

  // update applies the changes since the last update. The first update reads all animals. So does an update whose
  // changes are not kept any more.
  async update(api: Store): Promise<void> {
    for (;;) {
      if (this.position === 0) await this.read(api);
      const { data, error } = await api.GET("/changes", { params: { query: { after: this.position, limit: 100 } } });
      if (error?.code === "changes_expired") {
        this.position = 0;
        await new Promise((resolve) => setTimeout(resolve, 1000)); // in case it happens again
        continue;
      }
      if (error) throw new Error(`${error.code}: ${error.message}`);
      for (const change of data) {
        if (change.type === "pet.removed") this.pets.delete(change.pet!.id);
        else if (change.pet) this.pets.set(change.pet.id, change.pet);
        this.position = change.seq;
      }
      if (data.length === 0) return;
    }
  }

  // read reads the position of the last change, and then all animals.
  private async read(api: Store): Promise<void> {
    const { error, response } = await api.GET("/pets", { params: { query: { limit: 1 } } });
    if (error) throw new Error(`${error.code}: ${error.message}`);
    const position = response.headers.get("Changes-Position");
    if (position === null) throw new Error("the page is stale: try again later");
    this.pets = new Map((await allPets(api, { limit: 100 })).map((pet) => [pet.id, pet]));
    this.position = Number(position);
  }
}

// followChanges yields each change after a position as soon as it is made, until the stream ends. Then follow the changes
// after the last one again.
export async function* followChanges(api: Store, after: number): AsyncGenerator<Change> {
  const { data, error } = await api.GET("/changes", { params: { query: { after } }, headers: { Accept: "text/event-stream" }, parseAs: "stream" });
  if (error) throw new Error(`${error.code}: ${error.message}`);
  const reader = data!.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let text = ""; ; ) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (text + value).split("\n");
      text = lines.pop()!; // an incomplete line
      for (const line of lines) if (line.startsWith("data: ")) yield JSON.parse(line.slice("data: ".length));
    }
  } finally {
    await reader.cancel();
  }
}

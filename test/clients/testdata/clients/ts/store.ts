import createClient, { type Client } from "openapi-fetch";
import type { components, operations, paths } from "./petstore.js";

export type Store = Client<paths>;
export type Pet = components["schemas"]["Pet"];

// connect returns a client that sends the key with every request.
export function connect(url: string, key: string): Store {
  return createClient<paths>({ baseUrl: `${url}/v1`, headers: { Authorization: `Bearer ${key}` } });
}

// addPet adds an animal. It may be called again after any error: calls with the same
// idempotencyKey add one animal.
export async function addPet(api: Store, idempotencyKey: string, pet: components["schemas"]["NewPet"]): Promise<Pet> {
  const { data, error } = await api.POST("/pets", { params: { header: { "Idempotency-Key": idempotencyKey } }, body: pet });
  if (error) throw new Error(`${error.code}: ${error.message}`);
  return data;
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

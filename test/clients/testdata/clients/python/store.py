from collections.abc import Iterator

import petstore


def connect(key: str) -> petstore.ApiClient:
    """Return a client that sends the key with every request, to the service that it was generated from."""
    return petstore.ApiClient(petstore.Configuration(access_token=key))


def add_pet(api: petstore.PetsApi, idempotency_key: str, pet: petstore.NewPet) -> petstore.Pet:
    """Add an animal. It may be called again after any error: calls with the same idempotency_key add one animal."""
    return api.create_pet(pet, idempotency_key=idempotency_key)


def all_pets(api: petstore.PetsApi, **query) -> Iterator[petstore.Pet]:
    """Read all pages. A page with a next page has the header Link."""
    more = True
    while more:
        page = api.list_pets_with_http_info(**query)
        yield from page.data
        more = "Link" in page.headers
        if more:
            query["after"] = page.data[-1].id

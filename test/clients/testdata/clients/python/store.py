import time
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


class Copy:
    """A copy of the catalogue. An update makes it exact."""

    def __init__(self, api: petstore.ApiClient):
        self.api, self.pets, self.position = api, {}, None

    def update(self) -> None:
        """Apply the changes since the last update. The first one reads all animals, as does one for which the changes are not kept any more."""
        changes = [None]
        while changes:
            if self.position is None:
                self._read()
            try:
                changes = petstore.ChangesApi(self.api).list_changes(after=self.position, limit=100)
            except petstore.ApiException as error:
                if error.status != 410:
                    raise
                self.position = None
                time.sleep(1)  # in case it happens again
                continue
            for change in changes:
                if change.pet:
                    self.pets[change.pet.id] = change.pet
                self.position = change.seq

    def _read(self) -> None:
        """Read all animals, after the position from which their changes follow."""
        pets = petstore.PetsApi(self.api)
        headers = pets.list_pets_with_http_info(limit=1).headers
        if "Changes-Position" not in headers:
            raise RuntimeError("the service records no changes now")
        self.pets = {pet.id: pet for pet in all_pets(pets, limit=100)}
        self.position = int(headers["Changes-Position"])

import json
import re
import time
from collections.abc import Callable, Iterator

import petstore


def connect(key: str) -> petstore.ApiClient:
    """Return a client that sends the key with every request, to the service that it was generated from."""
    return petstore.ApiClient(petstore.Configuration(access_token=key))


def add_pet(api: petstore.PetsApi, idempotency_key: str, pet: petstore.NewPet) -> petstore.Pet:
    """Add an animal. While the service is not available, repeat the request: requests with the same idempotency_key add one animal.
    So add_pet may also be called again after any error."""
    while True:
        try:
            return api.create_pet(pet, idempotency_key=idempotency_key)
        except petstore.ApiException as error:
            if error.status != 503:
                raise
        time.sleep(1)


def correct_pet(api: petstore.PetsApi, pet_id: int, change: Callable[[petstore.Pet], petstore.PetPatch]) -> petstore.Pet:
    """Correct an animal with the patch that change returns for it. If the animal was changed meanwhile, begin again."""
    while True:
        found = api.update_pet_with_http_info(pet_id, petstore.PetPatch())  # changes nothing
        try:
            return api.update_pet(pet_id, change(found.data), if_match=header(found, "etag"))
        except petstore.ApiException as error:
            if error.status != 412:
                raise


def remove_pet(api: petstore.PetsApi, pet_id: int) -> None:
    """Remove an animal. It may be called again after any error."""
    try:
        api.delete_pet(pet_id)
    except petstore.ApiException as error:
        if not error.data or error.data.code != "pet_not_found":
            raise


def all_pets(api: petstore.PetsApi, **query) -> Iterator[petstore.Pet]:
    """Read all pages by following the header Link. A page of a search may be empty and not the last one."""
    while True:
        page = api.list_pets_with_http_info(**query)
        yield from page.data
        link = header(page, "link")
        if not link:
            return
        query["after"] = int(re.search(r"[?&]after=(\d+)", link)[1])


def header(response: petstore.ApiResponse, name: str) -> str | None:
    """Return a header, whose name may be in lower case behind a proxy, or None."""
    return {key.lower(): value for key, value in response.headers.items()}.get(name)


class Copy:
    """A copy of the catalogue. An update makes it exact."""

    def __init__(self, api: petstore.ApiClient):
        self.api, self.pets, self.position = api, {}, None

    def update(self) -> None:
        """Apply the changes since the last update. The first update reads all animals. So does an update whose changes are not kept any more."""
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
                if change.type == "pet.removed":
                    self.pets.pop(change.pet.id, None)
                elif change.pet:
                    self.pets[change.pet.id] = change.pet
                self.position = change.seq

    def _read(self) -> None:
        """Read the position of the last change, and then all animals."""
        pets = petstore.PetsApi(self.api)
        position = header(pets.list_pets_with_http_info(limit=1), "changes-position")
        if position is None:
            raise RuntimeError("the page is stale: try again later")
        self.pets = {pet.id: pet for pet in all_pets(pets, limit=100)}
        self.position = int(position)


def follow_changes(api: petstore.ChangesApi, after: int) -> Iterator[petstore.Change]:
    """Yield each change after a position as soon as it is made, until the stream ends. Then follow the changes after the last one again."""
    response = api.list_changes_without_preload_content(after=after, _headers={"Accept": "text/event-stream"})
    try:
        if response.status != 200:
            raise petstore.ApiException(status=response.status, body=response.read().decode())
        for line in response:
            if line.startswith(b"data: "):
                yield petstore.Change.from_dict(json.loads(line.removeprefix(b"data: ")))
    finally:
        response.close()

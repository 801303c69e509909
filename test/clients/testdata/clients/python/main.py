"""Call every operation with the generated client, at the URL of the OpenAPI document, and
fail at the first response that is not expected. The store must be empty."""

import os
import threading
from datetime import datetime, timedelta, timezone

from http.server import BaseHTTPRequestHandler, HTTPServer

import petstore
from petstore import ApiException, CategoriesApi, CategoryName, ChangesApi, Inventory, NewOrder, NewPet, OrderStatus, Pet, PetFilter, PetPatch, PetsApi, PetStatus, Sort, StoreApi
from store import Copy, add_pet, all_pets, connect, correct_pet, follow_changes, remove_pet

LARGEST, SMALLEST = 2**63 - 1, -(2**63)


def main() -> None:
    client = connect(os.environ["KEY"])
    want(client.configuration.host, os.environ["URL"] + "/v1")
    pets, store, copy = PetsApi(client), StoreApi(client), Copy(client)
    copy.update()
    add_and_list(pets)
    order_and_list(pets, store)
    correct_and_count(pets, store)
    for position in copy.position, 1:  # the changes after 1 are not kept
        copy.position = position
        copy.update()
        want(list(copy.pets.values()), list(all_pets(pets)))
    for key, code in ((None, "missing_api_key"), ("petstore_none", "invalid_api_key")):
        with rejected(401, code):
            PetsApi(connect(key)).list_pets()
    with rejected(401, "invalid_api_key"):
        PetsApi(connect("petstore_none")).create_pet(NewPet(name="Rex", categoryId=7))
    add_while_unavailable()
    follow_5_changes(ChangesApi(client))


def add_and_list(api: PetsApi) -> None:
    new_rex = NewPet(name="Rex", categoryId=LARGEST, status=PetStatus.AVAILABLE)
    rex = add_pet(api, "rex-1", new_rex)
    want((rex.name, rex.category_id, rex.status), ("Rex", LARGEST, PetStatus.AVAILABLE))
    replayed = api.create_pet_with_http_info(new_rex, idempotency_key="rex-1")
    want((replayed.data, replayed.headers["Idempotency-Replayed"], replayed.headers["Location"]), (rex, "true", f"./pets/{rex.id}"))
    with rejected(422, "idempotency_key_reused"):
        add_pet(api, "rex-1", NewPet(name="Max", categoryId=7))
    with rejected(400, "validation_failed"):
        api.create_pet(NewPet(name="x" * 201, categoryId=7))
    tom, mia = api.create_pets([NewPet(name="Tom", categoryId=SMALLEST, status=PetStatus.AVAILABLE), NewPet(name="Mia", categoryId=0)])
    want((tom.category_id, mia.category_id, mia.status), (SMALLEST, 0, None))

    for limit in range(1, 5):
        want(list(all_pets(api, limit=limit)), [rex, tom, mia])
    want(list(all_pets(api, limit=1, status=[PetFilter.AVAILABLE])), [rex, tom])
    want(list(all_pets(api, status=[PetFilter.AVAILABLE, PetFilter.NONE], sort=Sort.Newest)), [mia, tom, rex])
    want(list(all_pets(api, id=[mia.id, 99, rex.id])), [rex, mia])
    page = api.list_pets_with_http_info(after=rex.id)
    with rejected(304):
        api.list_pets(after=rex.id, if_none_match=page.headers["ETag"])
    with rejected(400, "invalid_parameter"):
        api.list_pets(after=LARGEST + 1)

    found = api.get_pet_with_http_info(rex.id)
    want((found.data, found.headers["Deprecation"], found.headers["Sunset"]), (rex, "@1764892800", "Thu, 05 Dec 2030 00:00:00 GMT"))
    with rejected(404, "pet_not_found"):
        api.get_pet(LARGEST)


def order_and_list(pets: PetsApi, api: StoreApi) -> None:
    rex, tom, _ = all_pets(pets)
    placed = api.place_order(NewOrder(petId=rex.id), idempotency_key="sell-rex")
    want((placed.pet_id, placed.status), (rex.id, OrderStatus.PLACED))
    want(abs(datetime.now(timezone.utc) - placed.created_at) < timedelta(minutes=1), True)
    want(api.place_order(NewOrder(petId=rex.id), idempotency_key="sell-rex"), placed)
    with rejected(409, "pet_not_available"):
        api.place_order(NewOrder(petId=rex.id))
    with rejected(404, "pet_not_found"):
        api.place_order(NewOrder(petId=99))

    want(api.get_order(placed.id), placed)
    with rejected(404, "order_not_found"):
        api.get_order(99)
    delivered = api.deliver_order(placed.id)
    want((delivered.status, api.deliver_order(placed.id)), (OrderStatus.DELIVERED, delivered))
    with rejected(409, "order_state_conflict"):
        api.cancel_order(placed.id)
    cancelled = api.cancel_order(api.place_order(NewOrder(petId=tom.id)).id)
    want(cancelled.status, OrderStatus.CANCELLED)
    with rejected(409, "order_state_conflict"):
        api.deliver_order(cancelled.id)

    want([pet.id for pet in all_pets(pets, status=[PetFilter.SOLD])], [rex.id])
    page = api.list_orders_with_http_info()
    want(page.data, [delivered, cancelled])
    with rejected(304):
        api.list_orders(if_none_match=page.headers["ETag"])
    want(api.list_orders(status=[OrderStatus.CANCELLED, OrderStatus.PLACED], pet_id=tom.id), [cancelled])


def correct_and_count(pets: PetsApi, api: StoreApi) -> None:
    """Correct Mia while another client does, remove Tom, and count the animals."""
    rex, tom, mia = all_pets(pets)
    found = []

    def change(pet: Pet) -> PetPatch:
        if not found:
            pets.update_pet(pet.id, PetPatch(status=PetStatus.SOLD))
        found.append(pet)
        return PetPatch(name=pet.name + " II")

    corrected = correct_pet(pets, mia.id, change)
    want((len(found), corrected.name, corrected.status), (2, "Mia II", PetStatus.SOLD))
    want(pets.update_pet(mia.id, PetPatch(status=None)).status, None)

    remove_pet(pets, tom.id)
    remove_pet(pets, tom.id)
    with rejected(409, "pet_ordered"):
        remove_pet(pets, rex.id)
    with rejected(404, "pet_not_found"):
        correct_pet(pets, tom.id, change)
    want(api.get_inventory(), Inventory(available=0, pending=0, sold=1, none=1, total=2))

    categories = CategoriesApi(pets.api_client)
    want(categories.put_category(7, CategoryName(name="Dogs")).name, "Dogs")
    want([category.name for category in categories.list_categories(after=6)][0], "Dogs")
    categories.delete_category(7)


def add_while_unavailable() -> None:
    """Add an animal to a service that is not available for the first request."""
    keys = []

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            keys.append(self.headers["Idempotency-Key"])
            unavailable = len(keys) == 1
            body = b'{"code":"unavailable","message":"","status":503}' if unavailable else b'{"id":7,"name":"Rex","categoryId":1}'
            self.send_response(503 if unavailable else 201)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        api = PetsApi(petstore.ApiClient(petstore.Configuration(host=f"http://127.0.0.1:{server.server_port}")))
        want(add_pet(api, "rex", NewPet(name="Rex", categoryId=1)).id, 7)
        server.shutdown()
    want(keys, ["rex", "rex"])


def follow_5_changes(api: ChangesApi) -> None:
    """Follow the first five changes that are kept."""
    expected = api.list_changes(limit=5)
    followed = []
    for change in follow_changes(api, expected[0].seq - 1):
        followed.append(change)
        if len(followed) == len(expected):
            break
    want(followed, expected)
    with rejected(410):
        next(follow_changes(api, 1))


class rejected:
    """Expect the block to fail with a status and, if the response has a body, a code."""

    def __init__(self, status: int, code: str | None = None):
        self.expected = (status, code)

    def __enter__(self) -> None:
        pass

    def __exit__(self, _, error: BaseException | None, __) -> bool:
        if error is not None and not isinstance(error, ApiException):
            return False
        got = error and (error.status, error.data and error.data.code)
        want(got, self.expected)
        return True


def want(got: object, expected: object) -> None:
    if got != expected:
        raise AssertionError(f"got {got!r}, want {expected!r}")


main()

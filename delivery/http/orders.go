package http

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
	"example.com/petstore/internal/binding"
	"example.com/petstore/internal/record"
)

type newOrder struct {
	// Identifier of the animal to order. Its status must be `available`, or it must have none.
	PetID *int64 `json:"petId" validate:"required" format:"int64" example:"1"`
} // @name NewOrder

// listOrdersQuery has the parameters of listOrders.
type listOrdersQuery struct {
	pageQuery
	// Return only orders with one of these statuses. Separate several by commas, or repeat the parameter.
	Status []domain.OrderStatus `form:"status" validate:"omitempty,unique,dive,orderstatus"`
	// Return only orders of this animal.
	PetID *int64 `form:"petId" validate:"omitempty,min=0" format:"int64"`
}

func (q listOrdersQuery) key() string { return q.next(q.After) }

func (q listOrdersQuery) next(after int64) string {
	return q.canonical(parameter("status", q.Status...)+parameter("petId", optional(q.PetID)...), after)
}

// listOrders sends a page of the orders.
//
//	@Summary		List orders
//	@Description	Returns orders in ascending order of id, with `sort=-id` newest first. The Link header has the address of the next page; the
//	@Description	last page has none.
//	@ID				listOrders
//	@Tags			Store
//	@Param			query	query	listOrdersQuery	false	"page and filters"
//	@Success		200		{array}	record.Order			"A page of orders. Deliver or cancel one that is placed by its `id`."
//	@Success		304		"Page not modified"
//	@Failure		400	{object}	errorBody	"invalid_parameter"
//	@Failure		401,403,429,500,503	{object}	errorBody
//	@Router			/store/orders [get]
func (a *API) listOrders(c *gin.Context) error {
	return serveQuery(a, c, "orders", func(ctx context.Context, q listOrdersQuery) (*encodedPage, error) {
		page, err := a.orders.List(ctx, domain.OrderQuery{PageRequest: q.pageRequest(), Statuses: q.Status, PetID: q.PetID})
		if err != nil {
			return nil, err
		}
		return encodePage(page, record.OrderOf, q)
	})
}

// placeOrder places an order for an animal.
//
//	@Summary		Order an animal
//	@Description	Places an order for an animal that is available or has no status, and changes the status of the animal to pending. Of several
//	@Description	simultaneous orders for one animal only one succeeds. A repeated request with the same Idempotency-Key places nothing and
//	@Description	returns the first response.
//	@ID				placeOrder
//	@Tags			Store
//	@Param			Idempotency-Key	header		string		false	"Identifies the retries of one request"
//	@Param			order			body		newOrder	true	"The animal to order"
//	@Success		201				{object}	record.Order		"The order. Deliver or cancel it by its `id`."
//	@Failure		400				{object}	errorBody	"invalid_json, validation_failed, unknown_parameter, invalid_idempotency_key"
//	@Failure		404				{object}	errorBody	"pet_not_found"
//	@Failure		409				{object}	errorBody	"pet_not_available"
//	@Failure		401,403,408,413,415,422,429,500,503	{object}	errorBody
//	@Router			/store/orders [post]
func (a *API) placeOrder(c *gin.Context) error {
	body, err := bindBody(c, binding.JSON[newOrder])
	if err != nil {
		return err
	}
	key, err := idempotencyKey(c)
	if err != nil {
		return err
	}
	placed, replayed, err := a.orders.Place(c.Request.Context(), *body.PetID, key)
	if err != nil {
		return err
	}
	logRecord(c, !replayed, placed.ID)
	setReplayed(c, replayed)
	c.Header("Location", "./orders/"+strconv.FormatInt(placed.ID, 10))
	return writeRecord(c, http.StatusCreated, record.OrderOf(placed))
}

// getOrder sends one order.
//
//	@Summary		Get an order
//	@Description	Returns an order with its current status.
//	@ID				getOrder
//	@Tags			Store
//	@Param			orderId	path		int64		true	"Identifier of the order to return"	format(int64)
//	@Success		200		{object}	record.Order		"The order"
//	@Success		304		"Not modified"
//	@Failure		400		{object}	errorBody	"unknown_parameter"
//	@Failure		404		{object}	errorBody	"order_not_found"
//	@Failure		401,403,429,500,503	{object}	errorBody
//	@Router			/store/orders/{orderId} [get]
func (a *API) getOrder(c *gin.Context) error {
	return serveRecord(a, c, "order", domain.CodeOrderNotFound, func(ctx context.Context, id int64) (domain.Page[domain.Order], error) {
		return a.orders.List(ctx, domain.OrderQuery{PageRequest: domain.PageRequest{Limit: 1}, IDs: []int64{id}})
	}, record.OrderOf)
}

// deliverOrder delivers an order.
//
//	@Summary		Deliver an order
//	@Description	Delivers a placed order and changes the status of its animal to sold. Repeating the request for a delivered order changes
//	@Description	nothing and returns the order. A cancelled order cannot be delivered.
//	@ID				deliverOrder
//	@Tags			Store
//	@Param			orderId	path		int64		true	"Identifier of the order to deliver"	format(int64)
//	@Success		200		{object}	record.Order		"The delivered order"
//	@Failure		400		{object}	errorBody	"unknown_parameter"
//	@Failure		404		{object}	errorBody	"order_not_found"
//	@Failure		409		{object}	errorBody	"order_state_conflict"
//	@Failure		401,403,429,500,503	{object}	errorBody
//	@Router			/store/orders/{orderId}/deliver [post]
func (a *API) deliverOrder(c *gin.Context) error {
	return endOrder(c, a.orders.Deliver)
}

// cancelOrder cancels an order.
//
//	@Summary		Cancel an order
//	@Description	Cancels a placed order and changes the status of its animal to available, also if it had none. Repeating the request for a
//	@Description	cancelled order changes nothing and returns the order. A delivered order cannot be cancelled.
//	@ID				cancelOrder
//	@Tags			Store
//	@Param			orderId	path		int64		true	"Identifier of the order to cancel"	format(int64)
//	@Success		200		{object}	record.Order		"The cancelled order"
//	@Failure		400		{object}	errorBody	"unknown_parameter"
//	@Failure		404		{object}	errorBody	"order_not_found"
//	@Failure		409		{object}	errorBody	"order_state_conflict"
//	@Failure		401,403,429,500,503	{object}	errorBody
//	@Router			/store/orders/{orderId}/cancel [post]
func (a *API) cancelOrder(c *gin.Context) error {
	return endOrder(c, a.orders.Cancel)
}

// endOrder calls a use case with the id in the path and sends the order that the use case returns.
func endOrder(c *gin.Context, useCase func(ctx context.Context, id int64) (ended domain.Order, changed bool, err error)) error {
	id, err := pathID(c, "order", domain.CodeOrderNotFound)
	if err != nil {
		return err
	}
	order, changed, err := useCase(c.Request.Context(), id)
	if err != nil {
		return err
	}
	logRecord(c, changed, order.ID)
	return writeRecord(c, http.StatusOK, record.OrderOf(order))
}

package http

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

type order struct {
	// Unique identifier, assigned by the service.
	ID int64 `json:"id" validate:"required" format:"int64" example:"2"`
	// The animal that is sold.
	PetID int64 `json:"petId" validate:"required" format:"int64" example:"2"`
	// Where the order stands.
	Status domain.OrderStatus `json:"status" validate:"required" enums:"placed,delivered,cancelled" example:"placed"`
	// When it was placed, in UTC.
	CreatedAt string `json:"createdAt" validate:"required" format:"date-time" example:"2026-11-20T10:06:30.000Z"`
	// When its status changed last, in UTC.
	UpdatedAt string `json:"updatedAt" validate:"required" format:"date-time" example:"2026-11-20T10:06:30.000Z"`
} // @name Order

func orderOf(o domain.Order) order {
	return order{ID: o.ID, PetID: o.PetID, Status: o.Status, CreatedAt: timestamp(o.CreatedAt), UpdatedAt: timestamp(o.UpdatedAt)}
}

// timestamp is a time in RFC 3339, UTC, with milliseconds.
func timestamp(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

type newOrder struct {
	// The animal to order.
	PetID *int64 `json:"petId" validate:"required" format:"int64" example:"2"`
} // @name NewOrder

type listOrdersQuery struct {
	pageQuery
	// Only orders with this status.
	Status domain.OrderStatus `form:"status" validate:"omitempty,orderstatus" enums:"placed,delivered,cancelled"`
	// Only orders of this animal.
	PetID *int64 `form:"petId" format:"int64"`
}

func (q listOrdersQuery) behind(after int64) string {
	filters := ""
	if q.Status != "" {
		filters = "&status=" + string(q.Status)
	}
	if q.PetID != nil {
		filters += "&petId=" + strconv.FormatInt(*q.PetID, 10)
	}
	return q.normal(filters, after)
}

// listOrders answers a page of the orders.
//
//	@Summary		List orders
//	@Description	The orders in the order in which they were placed. While there are more, the header Link leads to the next page.
//	@ID				listOrders
//	@Tags			Store
//	@Param			query	query	listOrdersQuery	false	"page and filters"
//	@Success		200		{array}	order			"A page of orders"
//	@Router			/store/orders [get]
func (a *API) listOrders(c *gin.Context) error {
	return a.servePage(c, "orders", func(raw string) (parsedQuery, error) {
		q, err := bindQuery[listOrdersQuery](raw)
		return parsedQuery{q.behind(q.After), func() (*encodedPage, error) {
			page, err := a.orders.List(c.Request.Context(), domain.OrderQuery{PageRequest: q.request(), Status: q.Status, PetID: q.PetID})
			if err != nil {
				return nil, err
			}
			return encodePage(page, orderOf, func(last domain.Order) string { return q.behind(last.ID) })
		}}, err
	})
}

// placeOrder orders an animal.
//
//	@Summary		Order an animal
//	@Description	Reserves an animal that is available or has no status: it becomes pending. Of many orders for one animal at once, one is placed. A repetition with the same Idempotency-Key places nothing and gets the first answer again.
//	@ID				placeOrder
//	@Tags			Store
//	@Param			Idempotency-Key	header		string		false	"Marks the repetitions of one request, for 24 hours"	minlength(1)	maxlength(255)
//	@Param			order			body		newOrder	true	"The animal to order"
//	@Success		201				{object}	order		"The order"
//	@Header			201				{string}	Location	"The order's address, relative to that of the request"
//	@Failure		404				{object}	errorBody	"pet_not_found"
//	@Failure		409				{object}	errorBody	"pet_not_available"
//	@Router			/store/orders [post]
func (a *API) placeOrder(c *gin.Context) error {
	body, err := bindBody[newOrder](c)
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
	return writeCreated(c, "./orders/"+strconv.FormatInt(placed.ID, 10), orderOf(placed), replayed)
}

// getOrder answers one order.
//
//	@Summary	Get an order
//	@ID			getOrder
//	@Tags		Store
//	@Param		orderId	path		int64		true	"Identifier of the order to return"	format(int64)
//	@Success	200		{object}	order		"The order"
//	@Failure	404		{object}	errorBody	"order_not_found"
//	@Router		/store/orders/{orderId} [get]
func (a *API) getOrder(c *gin.Context) error {
	return a.serveOrder(c, a.orders.Get)
}

// deliverOrder ends an order with the sale.
//
//	@Summary		Deliver an order
//	@Description	The animal of a placed order is sold. To deliver again changes nothing.
//	@ID				deliverOrder
//	@Tags			Store
//	@Param			orderId	path		int64		true	"Identifier of the order to deliver"	format(int64)
//	@Success		200		{object}	order		"The delivered order"
//	@Failure		404		{object}	errorBody	"order_not_found"
//	@Failure		409		{object}	errorBody	"order_state_conflict"
//	@Router			/store/orders/{orderId}/deliver [post]
func (a *API) deliverOrder(c *gin.Context) error {
	return a.serveOrder(c, a.orders.Deliver)
}

// cancelOrder ends an order without a sale.
//
//	@Summary		Cancel an order
//	@Description	The animal of a placed order is available again. To cancel again changes nothing.
//	@ID				cancelOrder
//	@Tags			Store
//	@Param			orderId	path		int64		true	"Identifier of the order to cancel"	format(int64)
//	@Success		200		{object}	order		"The cancelled order"
//	@Failure		404		{object}	errorBody	"order_not_found"
//	@Failure		409		{object}	errorBody	"order_state_conflict"
//	@Router			/store/orders/{orderId}/cancel [post]
func (a *API) cancelOrder(c *gin.Context) error {
	return a.serveOrder(c, a.orders.Cancel)
}

// serveOrder answers the order that the path names, as an act returns it.
func (a *API) serveOrder(c *gin.Context, act func(context.Context, int64) (domain.Order, error)) error {
	id, ok := parseInt64(c.Param("orderId"))
	if !ok {
		return notFoundByID("order", domain.CodeOrderNotFound)
	}
	order, err := act(c.Request.Context(), id)
	if err != nil {
		return err
	}
	return writeRecord(c, http.StatusOK, orderOf(order))
}

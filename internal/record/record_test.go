package record

import (
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
)

func TestConversionsHaveEveryField(t *testing.T) {
	t.Parallel()
	testkit.WantFilled(t, testkit.Filled[NewPet](t).Pet())
	testkit.WantFilled(t, PetOf(testkit.Filled[domain.Pet](t)))
	testkit.WantFilled(t, OrderOf(testkit.Filled[domain.Order](t)))
}

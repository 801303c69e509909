package usecase

import (
	"math/rand/v2"
	"strings"

	"example.com/petstore/domain"
)

// seedCategories is the number of categories of generated animals.
const seedCategories = 36

// A generated animal has a given name and, in two of three cases, a byname.
var (
	givenNames = strings.Fields(`
		Rex Luna Bello Minka Simba Nala Rocky Coco Felix Mia Max Lily Charlie Bella Oscar Daisy Balu Kira Sammy Lotte
		Bruno Emma Paco Ronja Hugo Frieda Anton Wilma Otis Paula Fiete Polly Momo Socke Krümel Flöckchen Mäxchen
		Zoë Chloé Renée Łatka Żabka Björk Søren Åse Jürgen Käthe Mušička Čiko Şeker Ñandú Açaí 小白 花花 さくら モモ 초코 나비
		Барсик Мурка Шарик Рыжик Φοίβος Ρόζα Pip Biscuit Pepper Ginger Mango Olive Maple Clover Noodle Waffles Pickles
		Tofu Mochi Ziggy`)
	bynames = []string{
		"", "", "", "", "", "", " II", " III", " Junior", " the Brave", " the Quiet", " the Swift",
		" the Hungry", " von der Wiese", " de la Luna", " O’Paws", " of Greyfield", " Whiskers",
	}
)

// drawPet generates an animal. Low categories are more frequent, and most animals can be
// ordered.
func drawPet(random *rand.Rand) domain.NewPet {
	name := givenNames[random.IntN(len(givenNames))] + bynames[random.IntN(len(bynames))]
	category := 1 + min(random.IntN(seedCategories), random.IntN(seedCategories))
	return domain.NewPet{Name: name, CategoryID: int64(category), Status: drawStatus(random)}
}

func drawStatus(random *rand.Rand) domain.PetStatus {
	switch draw := random.IntN(100); {
	case draw < 70:
		return domain.PetAvailable
	case draw < 85:
		return domain.PetSold
	case draw < 90:
		return domain.PetPending
	default:
		return ""
	}
}

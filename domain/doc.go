// Package domain has the types and rules of the animal store: what an animal is, when it can be
// ordered, which errors there are. It imports only the standard library and Unicode tables. Package apikey has the API keys.
package domain

// Package domain has the types and rules of the animal store, and the interfaces (ports)
// to its database: what an animal is, when it can be ordered, what an API key is. It
// imports the standard library only.
package domain

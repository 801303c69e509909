// Package domain has the types and rules of the animal store: what an animal is, when it can be
// ordered, which errors there are. It imports the standard library only. API keys are in apikey, and
// what the use cases need of a store in port.
package domain

// Package domain holds the types of the animal store, its rules, and the interfaces
// (ports) to the database: what an animal is, when it can be ordered, what an API key
// is. It imports the standard library only.
package domain

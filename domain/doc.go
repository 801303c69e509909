// Package domain is the vocabulary of the animal store and the rules that hold
// whatever carries them: what an animal is, when it may be sold, what makes an
// API key. It knows no HTTP, no SQL and no library.
package domain

// Package repository keeps the store in a database through GORM. Open is its
// door; what it returns implements the ports of package domain.
package repository

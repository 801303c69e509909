package main

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type gormPet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name" binding:"required"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status,omitempty"`
}

func (gormPet) TableName() string { return "pets" }

type gormKey struct {
	Caller      string `gorm:"primaryKey"`
	Value       string `gorm:"primaryKey"`
	Fingerprint []byte
	Result      []byte
	ClaimedAt   int64
}

func (gormKey) TableName() string { return "idempotency_keys" }

// ginAndGORM lists and creates the pets of a store as the guides of Gin and GORM show
// it: bind, Find or Create, JSON. There is no authentication and no cache. Each POST is a
// transaction, and as durable as petstore's (WAL, synchronous FULL). On SQLite one
// connection is the fastest for inserts alone; lists would wait for its commits.
func ginAndGORM(store string, connections int) (http.Handler, error) {
	db, err := gorm.Open(dialector(store), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	engine := gin.New()
	engine.GET("/v1/pets", func(c *gin.Context) {
		query := struct {
			Limit int   `form:"limit,default=20" binding:"min=1,max=100"`
			After int64 `form:"after"`
		}{}
		if err := c.ShouldBindQuery(&query); err != nil {
			c.AbortWithStatus(http.StatusBadRequest)
			return
		}
		pets := []gormPet{}
		if err := db.WithContext(c.Request.Context()).Where("id > ?", query.After).Order("id").Limit(query.Limit).Find(&pets).Error; err != nil {
			c.AbortWithStatus(http.StatusInternalServerError)
			return
		}
		c.JSON(http.StatusOK, pets)
	})
	engine.POST("/v1/pets", func(c *gin.Context) {
		var pet gormPet
		if err := c.ShouldBindJSON(&pet); err != nil {
			c.AbortWithStatus(http.StatusBadRequest)
			return
		}
		if err := create(db.WithContext(c.Request.Context()), &pet, c.GetHeader("Idempotency-Key")); err != nil {
			c.AbortWithStatus(http.StatusInternalServerError)
			return
		}
		c.JSON(http.StatusCreated, pet)
	})
	return engine, nil
}

// create creates a pet in a transaction. With a key it creates it once: a retry gets the pet
// of the first request.
func create(db *gorm.DB, pet *gormPet, key string) error {
	if key == "" {
		return db.Create(pet).Error
	}
	return db.Transaction(func(tx *gorm.DB) error {
		fingerprint := sha256.Sum256([]byte(pet.Name))
		claim := gormKey{Value: key, Fingerprint: fingerprint[:], ClaimedAt: time.Now().UnixMilli()}
		claimed := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&claim)
		if claimed.Error != nil {
			return claimed.Error
		}
		if claimed.RowsAffected == 0 {
			if err := tx.Where("caller = '' AND value = ?", key).Take(&claim).Error; err != nil {
				return err
			}
			return json.Unmarshal(claim.Result, pet)
		}
		if err := tx.Create(pet).Error; err != nil {
			return err
		}
		result, err := json.Marshal(pet)
		if err != nil {
			return err
		}
		return tx.Model(&gormKey{}).Where("caller = '' AND value = ?", key).Update("result", result).Error
	})
}

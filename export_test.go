package petstore

// CloseStore closes the store of a service that goes on, as if the store failed.
func (s *Service) CloseStore() error { return s.store.Close() }

module github.com/retrylab/retrylab/xk6-resilience

go 1.25.0

require (
	github.com/grafana/sobek v0.0.0-20260727154728-7781506a890f
	github.com/retrylab/retrylab v0.1.0
	github.com/sirupsen/logrus v1.9.3
	github.com/stretchr/testify v1.11.1
	go.k6.io/k6/v2 v2.2.0
	go.uber.org/goleak v1.3.0
)

// Declarations of this project's own that stand in for k6 in its tests: the
// names that the extension uses, with as much behind them as the tests need.
module go.k6.io/k6/v2

go 1.25.0

require (
	github.com/grafana/sobek v0.0.0-20260727154728-7781506a890f
	github.com/sirupsen/logrus v1.9.3
)

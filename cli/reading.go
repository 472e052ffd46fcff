package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/renameio/v2/maybe"

	"github.com/retrylab/retrylab/compare"
)

// readFlags say how runs are read from files.
type readFlags struct {
	Map map[string]string `sep:"none" mapsep:"none" placeholder:"FIGURE=METRIC" help:"A metric of your own script that stands for a figure, as downstream_calls=my_calls. May be repeated."`
}

func (f readFlags) reader() compare.Reader {
	return compare.Reader{Names: f.Map, Stdin: os.Stdin}
}

// tellShapes says on stderr what the files were, which is told by their content.
func (s *session) tellShapes(what string, shapes []compare.Shape) {
	var order []compare.Shape
	count := map[compare.Shape]int{}
	for _, shape := range shapes {
		if count[shape]++; count[shape] == 1 {
			order = append(order, shape)
		}
	}
	parts := make([]string, len(order))
	for i, shape := range order {
		parts[i] = fmt.Sprintf("%d of the shape %s", count[shape], shape)
	}
	if len(shapes) == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	fmt.Fprintf(s.Err, "retrylab: read %d %s: %s\n", len(shapes), what, strings.Join(parts, ", "))
}

// tellRead says what the runs were read from.
func (s *session) tellRead(runs []compare.Run) {
	shapes := make([]compare.Shape, len(runs))
	for i, run := range runs {
		shapes[i] = run.Shape
	}
	s.tellShapes("runs", shapes)
}

// merge writes the whole run of which the paths are the shards.
func (s *session) merge(f readFlags, output string, paths []string) error {
	if len(f.Map) > 0 {
		return invalid(errors.New("--merge keeps the names of metrics: give --map when the whole is compared"))
	}
	whole, err := f.reader().Merge(paths...)
	if err != nil {
		return invalid(err)
	}
	shapes := make([]compare.Shape, len(whole.Shards))
	for i, shard := range whole.Shards {
		shapes[i] = shard.Shape
	}
	s.tellShapes("shards", shapes)
	s.warn(whole.Refused)
	data, err := whole.Encode()
	if err != nil {
		return err
	}
	if output == "" {
		_, err = s.Out.Write(data)
	} else {
		err = invalid(maybe.WriteFile(output, data, 0o644))
	}
	if err == nil && len(whole.Refused) > 0 {
		err = invalid(fmt.Errorf("the shards are merged, with refusals: %d", len(whole.Refused)))
	}
	return err
}

// Reads JSON documents, one a line, and writes each as encoding/json does.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var value any
		if err := json.Unmarshal(in.Bytes(), &value); err != nil {
			panic(err)
		}
		if err := out.Encode(value); err != nil {
			panic(err)
		}
	}
}

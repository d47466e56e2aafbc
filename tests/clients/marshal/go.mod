module marshal

go 1.22

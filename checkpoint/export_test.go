package checkpoint

// ParseValue is parseValue for tests outside the package.
var ParseValue = parseValue

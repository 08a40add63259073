/** How a parameter of a job type is entered. */
export interface ParameterInput {
  readonly name: string
  readonly title: string
  readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'json'
  readonly choices: readonly string[]
  readonly required: boolean
  /** The value if nothing is entered, as JSON; empty without one. */
  readonly fallback: string
  readonly secret: boolean
  readonly description: string
}

type JsonSchema = Readonly<Record<string, unknown>>

/** Return the inputs for the properties of a JSON schema; what has no simple input is entered as JSON. */
export function parameterInputs(schema: JsonSchema): ParameterInput[] {
  const properties = recordOf(schema['properties'])
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : [])
  return Object.entries(properties).map(([name, value]) => {
    const own = resolved(recordOf(value), schema)
    const choices = Array.isArray(own['enum']) ? own['enum'] : []
    const texts = choices.filter((each): each is string => typeof each === 'string')
    const isChoice = texts.length > 0 && texts.length === choices.length
    return {
      name,
      title: typeof own['title'] === 'string' ? own['title'] : name,
      kind: isChoice ? 'choice' : kindOf(own['type']),
      choices: isChoice ? texts : [],
      required: required.has(name),
      fallback: 'default' in own ? JSON.stringify(own['default']) : '',
      secret: own['writeOnly'] === true || own['format'] === 'password',
      description: typeof own['description'] === 'string' ? own['description'] : '',
    }
  })
}

/** Return the values of inputs as the API takes them. Empty ones are left out; invalid ones stay texts, and are refused. */
export function paramsOf(
  inputs: readonly ParameterInput[],
  texts: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const entered = inputs.filter(({ name }) => (texts[name] ?? '') !== '')
  return Object.fromEntries(
    entered.map((input) => [input.name, valueOf(input, texts[input.name] ?? '')]),
  )
}

function valueOf({ kind }: ParameterInput, text: string): unknown {
  if (kind === 'text' || kind === 'choice') return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

function kindOf(type: unknown): ParameterInput['kind'] {
  if (type === 'string') return 'text'
  if (type === 'integer' || type === 'number') return 'number'
  return type === 'boolean' ? 'boolean' : 'json'
}

/** Follow a reference to a definition of the schema, and take the one alternative besides null. */
function resolved(property: JsonSchema, schema: JsonSchema): JsonSchema {
  const reference = property['$ref']
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1) ?? ''
    return { ...recordOf(recordOf(schema['$defs'])[name]), ...property }
  }
  const alternatives = Array.isArray(property['anyOf']) ? property['anyOf'] : []
  const others = alternatives.map(recordOf).filter((each) => each['type'] !== 'null')
  const [only] = others
  return others.length === 1 && only !== undefined
    ? { ...resolved(only, schema), ...property }
    : property
}

function recordOf(value: unknown): JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonSchema)
    : {}
}

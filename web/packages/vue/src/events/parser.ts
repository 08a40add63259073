/** One server-sent event. */
export interface ServerSentEvent {
  readonly type: string
  readonly data: string
  readonly id: string | null
}

/** Parses `text/event-stream` as the HTML standard (9.2.6) defines it, across any split of the text. */
export class EventParser {
  /** Milliseconds the server asks clients to wait before they reconnect, if it has said so. */
  retry: number | null = null
  #rest = ''
  #type = ''
  #data: string[] = []
  #id: string | null = null

  /** Take the next piece of the stream; returns the events that it completes. */
  push(chunk: string): ServerSentEvent[] {
    // A carriage return at the end may be half of a line break, so it waits for the next piece.
    const lines = (this.#rest + chunk).split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop() ?? ''
    return lines.flatMap((line) => this.#take(line))
  }

  #take(line: string): ServerSentEvent[] {
    if (line === '') return this.#complete()
    const colon = line.indexOf(':')
    if (colon === -1) this.#set(line, '')
    if (colon > 0) this.#set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ''))
    return []
  }

  #set(field: string, value: string): void {
    if (field === 'event') this.#type = value
    else if (field === 'data') this.#data.push(value)
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.retry = Number(value)
  }

  #complete(): ServerSentEvent[] {
    const event = { type: this.#type || 'message', data: this.#data.join('\n'), id: this.#id }
    const told = this.#data.length > 0
    this.#type = ''
    this.#data = []
    return told ? [event] : []
  }
}

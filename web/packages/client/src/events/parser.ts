/** One server-sent event. */
export interface ServerSentEvent {
  readonly type: string
  readonly data: string
  readonly id: string | null
}

/** Parses `text/event-stream` as the HTML standard (section 9.2.6) defines it. The text may be split anywhere. */
export class EventParser {
  /** The delay before a reconnection that the server has requested, in milliseconds; null if it has not. */
  retry: number | null = null
  /** The id to resume after; null if there was none. An id counts when the block that has it ends, also without data. */
  lastEventId: string | null = null
  #buffer = ''
  #afterReturn = false
  #type = ''
  #data: string[] = []
  #id: string | null = null

  /** Parse the next chunk of the stream. Returns the events that it completes. */
  push(chunk: string): ServerSentEvent[] {
    // A carriage return ends a line at once; a line feed that follows in the next chunk belongs to it.
    const rest = this.#afterReturn && chunk.startsWith('\n') ? chunk.slice(1) : chunk
    if (chunk !== '') this.#afterReturn = chunk.endsWith('\r')
    const lines = (this.#buffer + rest).split(/\r\n|\n|\r/)
    this.#buffer = lines.pop() ?? ''
    return lines.flatMap((line) => this.#parseLine(line))
  }

  #parseLine(line: string): ServerSentEvent[] {
    if (line === '') return this.#finishEvent()
    const colon = line.indexOf(':')
    if (colon === -1) this.#setField(line, '')
    if (colon > 0) this.#setField(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ''))
    return []
  }

  #setField(field: string, value: string): void {
    if (field === 'event') this.#type = value
    else if (field === 'data') this.#data.push(value)
    else if (field === 'id' && !value.includes('\0')) this.#id = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.retry = Number(value)
  }

  #finishEvent(): ServerSentEvent[] {
    this.lastEventId = this.#id
    const event = { type: this.#type || 'message', data: this.#data.join('\n'), id: this.#id }
    const hasData = this.#data.length > 0
    this.#type = ''
    this.#data = []
    return hasData ? [event] : []
  }
}

import { HoraeError } from '@horae/vue'

import { refusalText } from '@/texts/sentences'

/** What the server says about a query that it cannot read. */
export interface QueryProblem {
  readonly text: string
  /** The query in three parts: the second one is wrong. */
  readonly parts: readonly [string, string, string]
}

/** Return the problem of a query if an error of the server is about it. */
export function problemOf(error: unknown, query: string): QueryProblem | null {
  if (!(error instanceof HoraeError) || error.code !== 'ERROR_JOB_QUERY') return null
  const place = /^query, character (\d+): /.exec(error.message)
  const start = Math.max(0, Number(place?.[1] ?? 1) - 1)
  // The server counts characters, in which a string of JavaScript may have two units.
  const characters = Array.from(query)
  const rest = characters.slice(start).join('')
  const length = /^(?:"(?:[^"\\]|\\.)*"?|\S)*/.exec(rest)?.[0].length ?? rest.length
  return {
    text:
      refusalText(error.sentence) ??
      (place === null ? error.message : error.message.slice(place[0].length)),
    parts: [characters.slice(0, start).join(''), rest.slice(0, length), rest.slice(length)],
  }
}

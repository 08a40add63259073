import type { components } from '@horae/vue'

/** The values of a sentence of the server, by their names, as they stand in a text. */
export interface SentenceValues {
  readonly text: (name: string) => string
  readonly list: (name: string) => string[]
  /** Whether there is a value other than false, zero and an empty text. */
  readonly has: (name: string) => boolean
  readonly number: (name: string) => number
  readonly count: (name: string) => string
  /** Seconds as a duration. */
  readonly length: (name: string) => string
  /** A moment in the zone of the page. */
  readonly moment: (name: string) => string
}

/** A text for each sentence that the server may send. A language that lacks one is a type error. */
export type SentenceTexts = Readonly<
  Record<components['schemas']['SentenceCode'], (values: SentenceValues) => string>
>

/** What names no time stays as the server writes it, in English: refusals, and what is stored with jobs. */
export type EnglishSentences = Omit<
  SentenceTexts,
  `${'query' | 'refused' | 'stored' | 'value'}_${string}`
>

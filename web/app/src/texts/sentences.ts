import type { components } from '@horae/vue'

import { durationText } from '@/format/duration'
import { momentText } from '@/format/moment'
import { countText } from '@/format/number'
import { language } from './locale'
import { texts } from './texts'
import type { SentenceTexts, SentenceValues } from './sentenceTexts'

type Sentence = Readonly<components['schemas']['SentenceItem']>
type FieldError = Readonly<components['schemas']['FieldError']>
/** The errors of a request that is refused, by field. */
export type FieldErrors = Readonly<Record<string, readonly FieldError[]>>

/** What the server sends to viewers in place of a text that may repeat parameters. */
const HIDDEN = 'not shown to viewers'

/**
 * Write a sentence of the server in the language of the reader, with times in the zone of the page. A code that this
 * dashboard does not know, as that of a newer server, leaves the English text.
 */
export function sentenceText(text: string, sentence: Sentence | null | undefined): string {
  if (text === HIDDEN) return texts.value.job.notShown
  const known: Readonly<Partial<SentenceTexts>> = texts.value.sentences
  const write = sentence ? known[sentence.code] : undefined
  return sentence && write ? write(valuesOf(sentence.values)) : text
}

/** Write an error of the server: null if it came without a sentence. */
export function refusalText(sentence: unknown): string | null {
  return isSentence(sentence) ? sentenceText('', sentence) || null : null
}

/** Return the code of the sentence of an error of the server; null if it came without one. */
export function refusalCode(sentence: unknown): string | null {
  return isSentence(sentence) ? sentence.code : null
}

/** Write one error of a field of a request. */
export function fieldErrorText({ error, sentence }: FieldError): string {
  return refusalText(sentence) ?? error
}

/** Write what is wrong with the fields of a request; null if the detail of an error does not say it. */
export function fieldsText(detail: unknown): string | null {
  if (typeof detail !== 'object' || detail === null) return null
  return Object.entries(detail as FieldErrors)
    .map(([field, errors]) => `${field}: ${errors.map(fieldErrorText).join(' ')}`)
    .join('; ')
}

/** Return the words for a trigger in the language of the page, or in English if the server has no others. */
export function wordsOf(described: {
  readonly words: string
  readonly words_in: Readonly<Record<string, string>>
}): string {
  return described.words_in[language.value] ?? described.words
}

function isSentence(value: unknown): value is Sentence & { readonly text?: string } {
  return typeof value === 'object' && value !== null && 'code' in value && 'values' in value
}

function valuesOf(values: Readonly<Record<string, unknown>>): SentenceValues {
  const numberOf = (name: string) => Number(values[name] ?? 0)
  return {
    text: (name) => written(values[name]),
    list: (name) => {
      const parts = values[name]
      return Array.isArray(parts) ? parts.map(written) : []
    },
    has: (name) => ![undefined, null, false, 0, ''].includes(values[name] as null),
    number: numberOf,
    count: (name) => countText(numberOf(name)),
    length: (name) => durationText(Math.round(numberOf(name))),
    moment: (name) => momentText(written(values[name])),
  }
}

/** A value that is a sentence is written as well. */
function written(value: unknown): string {
  if (isSentence(value)) return sentenceText(value.text ?? '', value)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

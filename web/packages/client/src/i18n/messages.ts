import type { JobState } from '../job/states'

/** All texts that the package shows. */
export interface Messages {
  readonly states: Readonly<Record<JobState | 'gone', string>>
  readonly progress: string
  /** Write a number of percent. */
  readonly percent: (value: number) => string
  readonly cancel: string
  readonly cancelling: string
  readonly notCancellable: { readonly error: string; readonly message: string }
  readonly unreachable: { readonly error: string; readonly message: string }
  readonly refused: string
}

const en: Messages = {
  states: {
    pending: 'Waiting to start',
    started: 'Running',
    finished: 'Finished',
    failed: 'Failed',
    cancelled: 'Cancelled',
    gone: 'No longer exists',
  },
  progress: 'Progress',
  percent: (value) => `${value}%`,
  cancel: 'Cancel',
  cancelling: 'Cancelling…',
  notCancellable: {
    error: 'Cannot be cancelled',
    message: 'The job has already ended.',
  },
  unreachable: {
    error: 'Connection failed',
    message: 'The server cannot be reached. Please try again.',
  },
  refused: 'Action failed',
}

const de: Messages = {
  states: {
    pending: 'Wartet auf Start',
    started: 'Läuft',
    finished: 'Fertig',
    failed: 'Fehlgeschlagen',
    cancelled: 'Abgebrochen',
    gone: 'Nicht mehr vorhanden',
  },
  progress: 'Fortschritt',
  percent: (value) => `${value}\u00a0%`,
  cancel: 'Abbrechen',
  cancelling: 'Wird abgebrochen …',
  notCancellable: {
    error: 'Abbrechen nicht möglich',
    message: 'Der Auftrag ist bereits beendet.',
  },
  unreachable: {
    error: 'Verbindung fehlgeschlagen',
    message: 'Der Server ist nicht erreichbar. Bitte versuchen Sie es noch einmal.',
  },
  refused: 'Aktion fehlgeschlagen',
}

export const MESSAGES: Readonly<Record<string, Messages>> = { en, de }

/** Return the texts for a language tag such as `de-AT`. Unknown languages and missing texts fall back to English. */
export function messagesFor(
  locale: string,
  more: Readonly<Record<string, Partial<Messages>>> = {},
): Messages {
  const tag = locale.toLowerCase()
  const language = tag.split('-')[0] ?? ''
  return { ...en, ...MESSAGES[language], ...(more[tag] ?? more[language]) }
}

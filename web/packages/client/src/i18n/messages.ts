import type { JobState } from '../job/states'

/** All texts that the package shows. */
export interface Messages {
  readonly states: Readonly<Record<JobState | 'gone', string>>
  readonly progress: string
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

/** Return the texts for a language tag such as `de-AT`. Unknown languages fall back to English. */
export function messagesFor(
  locale: string,
  more: Readonly<Record<string, Messages>> = {},
): Messages {
  const known = { ...MESSAGES, ...more }
  const tag = locale.toLowerCase()
  return known[tag] ?? known[tag.split('-')[0] ?? ''] ?? en
}

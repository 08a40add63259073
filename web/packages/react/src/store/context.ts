import { messagesFor, type LabelText, type Messages } from '@horae/client'
import {
  createContext,
  createElement,
  useContext,
  useMemo,
  type ReactElement,
  type ReactNode,
} from 'react'

import type { Horae } from './horae'

/** What the components below a `HoraeProvider` share. */
export interface HoraeContextValue extends Horae {
  readonly messages: Messages
  readonly labelText: LabelText | undefined
}

export interface HoraeProviderProps {
  /** The result of `createHorae`. */
  readonly horae: Horae
  /** A language tag; `en` by default. */
  readonly locale?: string
  /** Texts of further languages, or replacements, by language tag. */
  readonly messages?: Readonly<Record<string, Partial<Messages>>>
  /** Converts a label of a job into a text for the user. */
  readonly labelText?: LabelText
  readonly children?: ReactNode
}

const HoraeContext = createContext<HoraeContextValue | null>(null)

/** Provides Horae to the components below it. */
export function HoraeProvider(props: HoraeProviderProps): ReactElement {
  const { horae, locale = 'en', messages, labelText, children } = props
  const value = useMemo(
    () => ({ ...horae, messages: messagesFor(locale, messages), labelText }),
    [horae, locale, messages, labelText],
  )
  return createElement(HoraeContext.Provider, { value }, children)
}

/** Return what the provider provides. @throws if there is no provider. */
export function useHorae(): HoraeContextValue {
  const value = useContext(HoraeContext)
  if (!value)
    throw new Error('there is no <HoraeProvider horae={createHorae(…)}> above this component')
  return value
}

/**
 * Return the texts of the application. Without a provider they are English, so that the progress bar also works alone.
 */
export function useMessages(): Messages {
  return useContext(HoraeContext)?.messages ?? messagesFor('en')
}

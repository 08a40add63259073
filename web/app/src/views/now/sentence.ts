import type { Overview } from '@/api/model'
import { texts } from '@/texts/texts'

/** Say in a sentence whether anything is wrong. */
export function sentenceOf({
  wrong,
  notable,
  nodes_alive,
}: Pick<Overview, 'wrong' | 'notable' | 'nodes_alive'>): string {
  const words = texts.value.now
  if (wrong > 0) return words.wrong(wrong, notable)
  if (notable > 0) return words.notable(notable)
  return nodes_alive > 0 ? words.well : words.noNode
}

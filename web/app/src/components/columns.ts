import { shallowRef, watch, type Ref } from 'vue'

/** Read the columns from a stored text, in the order of the table. */
export function parseColumns<Name extends string>(
  stored: string | null,
  names: readonly Name[],
  usual: readonly Name[],
): readonly Name[] {
  if (stored === null) return usual
  const chosen = stored.split(',')
  return names.filter((name) => chosen.includes(name))
}

/** The columns of a table that the user has chosen. They are stored in the browser under `key`. */
export function useColumns<Name extends string>(
  key: string,
  names: readonly Name[],
  usual: readonly Name[] = names,
): Ref<readonly Name[]> {
  const columns: Ref<readonly Name[]> = shallowRef(
    parseColumns(localStorage.getItem(key), names, usual),
  )
  watch(columns, (chosen) => localStorage.setItem(key, chosen.join(',')))
  return columns
}

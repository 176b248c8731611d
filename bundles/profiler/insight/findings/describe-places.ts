import type { RuleFinding } from '../../../../kernel/profiler-contract.ts'
import type { CallerPlace } from '../../../../lib/stack/choose-places.ts'
import { formatCaller } from '../../profile/code.ts'

/** More places are not named. */
const placeLimit = 3

/** Completes a sentence of advice with the lines of the application that started the work. */
export function describePlaces(
  work: readonly { readonly caller: CallerPlace }[],
  values: Readonly<Record<string, string>>,
  advice: string,
): Pick<RuleFinding, 'advice' | 'code' | 'values'> {
  const lines = new Map<string, { file: string; line: number }>()
  for (const { caller } of work) {
    const { file, line } = caller
    if (file !== undefined && line !== undefined) lines.set(formatCaller(caller), { file, line })
  }
  const [code] = lines.values()
  if (code === undefined) return { advice: `${advice}.`, values }
  const places = [...lines.keys()].slice(0, placeLimit).map((place, index) => [`place-${index}`, place] as const)
  const named = places.map(([name]) => `{${name}}`).join(', ')
  return { advice: `${advice}: ${named}.`, values: { ...values, ...Object.fromEntries(places) }, code }
}

/** What tells assets of a kind in `judged_asset`: verdicts do, of which there are few, but for plain components, of which most have none. */
export function kindColumn(kind: string): 'kind' | 'judged_as' {
  return kind === 'component' ? 'kind' : 'judged_as';
}

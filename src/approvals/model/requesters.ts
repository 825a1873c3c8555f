/**
 * SQL that is true when a person asked for an approval, or could have: they own the credential that asked, or were shown its secret before.
 *
 * @param person SQL expression of the type text, over `a`, the row of the approval
 */
export function isRequester(person: string): string {
  return `(${person} = a.owner_id OR ${person} = ANY(a.requesters))`;
}

import type { Fault } from '../../../platform/errors/problem.js';
import { stepsOf } from '../../../platform/json/json-pointer.js';
import { truncate } from '../../../platform/text/truncate.js';
import { isMembers } from '../../model/json.js';
import type { Remark } from '../../model/document.js';
import { addRemark } from '../../model/document-remarks.js';

/** Parts of a component's evidence that are not read. */
const UNREAD_EVIDENCE = new Set('callstack copyright identity licenses'.split(' '));
const MISSING = / is missing$/;

interface Part {
  readonly holder: Record<string, unknown> | unknown[];
  readonly member: string | number;
  readonly pointer: string;
}

/**
 * leaveOutParts removes invalid parts of a component's evidence that are not read, and occurrences without a location. Returns true if a part was removed.
 *
 * @param depth number of pointer steps that lead to the component itself
 */
export function leaveOutParts(item: unknown, depth: number, faults: readonly Fault[], repairs: Remark[]): boolean {
  const parts = new Map<string, { readonly part: Part; readonly fault: Fault }>();
  for (const fault of faults) {
    const part = partOf(item, depth, fault);
    if (part !== undefined && !parts.has(part.pointer)) parts.set(part.pointer, { part, fault });
  }
  // Later parts first, so that the indexes of earlier occurrences remain valid.
  for (const { part, fault } of [...parts.values()].reverse()) {
    const { holder, member, pointer } = part;
    if (Array.isArray(holder)) holder.splice(Number(member), 1);
    else Reflect.deleteProperty(holder, member);
    const detail = `is invalid and was ignored: ${truncate(fault.pointer, 200)} ${fault.detail}`;
    addRemark(repairs, { pointer, code: 'part.left-out', detail });
  }
  return parts.size > 0;
}

function partOf(item: unknown, depth: number, { pointer, detail }: Fault): Part | undefined {
  const all = stepsOf(pointer);
  const [first = '', second = '', third = ''] = all.slice(depth);
  if (!isMembers(item)) return undefined;
  const upTo = (steps: number) => `/${all.slice(0, depth + steps).join('/')}`;
  const { evidence } = item;
  if (first !== 'evidence' || !isMembers(evidence)) return undefined;
  if (UNREAD_EVIDENCE.has(second) && evidence[second] !== undefined)
    return { holder: evidence, member: second, pointer: upTo(2) };
  const { occurrences } = evidence;
  if (second !== 'occurrences' || !Array.isArray(occurrences) || !MISSING.test(detail)) return undefined;
  return { holder: occurrences, member: Number(third), pointer: upTo(3) };
}

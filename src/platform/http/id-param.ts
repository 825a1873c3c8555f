import { Transform } from 'class-transformer';
import { Allow } from 'class-validator';
import { isId } from '../database/new-id.js';
import { Problem } from '../errors/problem.js';

/** `:id` of a path. What cannot be an id is simply not there: 404, as for any other unknown id. */
export class IdParam {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Allow()
  @Transform(({ value }: { value: unknown }) => assertId(value))
  id: string;
}

export function assertId(value: unknown): string {
  if (typeof value === 'string' && isId(value)) return value.toLowerCase();
  throw new Problem('missing', 'resource.missing', 'The resource does not exist.');
}

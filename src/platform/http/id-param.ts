import { Transform } from 'class-transformer';
import { Allow } from 'class-validator';
import { isId } from '../database/new-id.js';
import { Problem } from '../errors/problem.js';

/** IdParam is the `:id` of a path. An invalid ID returns 404, like any other unknown ID. */
export class IdParam {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Allow()
  @Transform(({ value }: { value: unknown }) => assertId(value))
  id: string;
}

/** IdOrNameParam is the `:id` of a path that accepts a name as well; see `resolvesNames`. */
export class IdOrNameParam {
  /** ID or name of the resource. A UUID is always an ID. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Allow()
  id: string;
}

export function assertId(value: unknown): string {
  if (typeof value === 'string' && isId(value)) return value.toLowerCase();
  throw new Problem('missing', 'resource.missing', 'Resource not found: the ID in the path is not a UUID.');
}

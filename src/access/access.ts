import { createParamDecorator, type ExecutionContext, SetMetadata, applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension } from '@nestjs/swagger';
import type { AuthorizedRequest } from '../platform/http/reauthorization.js';
import type { Caller } from './caller.js';
import type { Scope } from './scopes.js';

export const ACCESS = Symbol('access');
export const FRESH = Symbol('fresh');

/** The access that a handler declares. A handler that declares none is refused. */
export type Access =
  | { readonly kind: 'public' }
  | { readonly kind: 'signed-in' }
  | { readonly kind: 'person' }
  | { readonly kind: 'person-or-device' }
  | { readonly kind: 'scopes'; readonly scopes: readonly Scope[] };

/** The caller must have this scope, or all of these. */
export const Needs = (...scopes: [Scope, ...Scope[]]): MethodDecorator =>
  applyDecorators(
    SetMetadata(ACCESS, { kind: 'scopes', scopes } satisfies Access),
    ApiBearerAuth(),
    ApiExtension('x-required-scopes', scopes),
  );

/** Any signed-in caller. */
export const SignedIn = (): MethodDecorator =>
  applyDecorators(
    SetMetadata(ACCESS, { kind: 'signed-in' } satisfies Access),
    ApiBearerAuth(),
    ApiExtension('x-required-scopes', []),
  );

/** A person signed in at the service itself: not an API key or a client's token. */
export const Person = (): MethodDecorator =>
  applyDecorators(
    SetMetadata(ACCESS, { kind: 'person' } satisfies Access),
    ApiBearerAuth(),
    ApiExtension('x-required-scopes', []),
    ApiExtension('x-person', true),
  );

/** A person, directly or through a client that they approved; not an API key or a client acting for itself. */
export const PersonOrDevice = (): MethodDecorator =>
  applyDecorators(
    SetMetadata(ACCESS, { kind: 'person-or-device' } satisfies Access),
    ApiBearerAuth(),
    ApiExtension('x-required-scopes', []),
    ApiExtension('x-person', true),
  );

/**
 * A person must have authenticated within the last five minutes (`POST /api/auth/step-up`); sessions of clients need a step-up in that session. Not
 * required of keys and clients.
 */
export const Fresh = (): MethodDecorator => applyDecorators(SetMetadata(FRESH, true), ApiExtension('x-step-up', true));

/** Anyone, without a credential. */
export const Public = (): MethodDecorator => SetMetadata(ACCESS, { kind: 'public' } satisfies Access);

export interface CalledRequest extends AuthorizedRequest {
  caller?: Caller;
}

/** The caller that the access guard authenticated. */
export const TheCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller =>
  callerOf(context.switchToHttp().getRequest()),
);

export function callerOf({ caller }: CalledRequest): Caller {
  if (caller === undefined) throw new Error('a handler that takes the caller must not be public');
  return caller;
}

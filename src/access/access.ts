import { createParamDecorator, type ExecutionContext, SetMetadata, applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension } from '@nestjs/swagger';
import type { AuthorizedRequest } from '../platform/http/reauthorization.js';
import type { Caller } from './caller.js';
import type { Scope } from './scopes.js';

export const ACCESS = Symbol('access');
export const FRESH = Symbol('fresh');

/** Access describes the callers that a handler admits. A handler without an access declaration cannot be called. */
export type Access =
  | { readonly kind: 'public' }
  | { readonly kind: 'signed-in' }
  | { readonly kind: 'person' }
  | { readonly kind: 'person-or-device' }
  | { readonly kind: 'scopes'; readonly scopes: readonly Scope[] };

/** Needs requires the caller to have all of the given scopes. */
export const Needs = (...scopes: [Scope, ...Scope[]]): MethodDecorator =>
  applyDecorators(
    SetMetadata(ACCESS, { kind: 'scopes', scopes } satisfies Access),
    ApiBearerAuth(),
    ApiExtension('x-required-scopes', scopes),
  );

/** SignedIn admits every authenticated caller. */
export const SignedIn = (): MethodDecorator =>
  applyDecorators(
    SetMetadata(ACCESS, { kind: 'signed-in' } satisfies Access),
    ApiBearerAuth(),
    ApiExtension('x-required-scopes', []),
  );

/** Person admits people who signed in to the service itself. API keys and tokens of OAuth clients are rejected. */
export const Person = (): MethodDecorator =>
  applyDecorators(
    SetMetadata(ACCESS, { kind: 'person' } satisfies Access),
    ApiBearerAuth(),
    ApiExtension('x-required-scopes', []),
    ApiExtension('x-person', true),
  );

/**
 * PersonOrDevice admits people who signed in to the service itself or approved an OAuth client. API keys, and clients acting on their own behalf, are rejected.
 */
export const PersonOrDevice = (): MethodDecorator =>
  applyDecorators(
    SetMetadata(ACCESS, { kind: 'person-or-device' } satisfies Access),
    ApiBearerAuth(),
    ApiExtension('x-required-scopes', []),
    ApiExtension('x-person', true),
  );

/**
 * Fresh requires a person to have authenticated within the last five minutes (`POST /api/auth/step-up`). In an OAuth client's session, only a step-up in that
 * session counts. API keys, and clients acting on their own behalf, are exempt.
 */
export const Fresh = (): MethodDecorator => applyDecorators(SetMetadata(FRESH, true), ApiExtension('x-step-up', true));

/** Public admits calls without a credential. */
export const Public = (): MethodDecorator => SetMetadata(ACCESS, { kind: 'public' } satisfies Access);

export interface CalledRequest extends AuthorizedRequest {
  caller?: Caller;
}

/** TheCaller injects the caller that the access guard authenticated. */
export const TheCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller =>
  callerOf(context.switchToHttp().getRequest()),
);

export function callerOf({ caller }: CalledRequest): Caller {
  if (caller === undefined) throw new Error('@TheCaller() cannot be used in a @Public() handler');
  return caller;
}

import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { newId } from '../platform/database/new-id.js';
import { describesHeader } from '../platform/http/header-parameter.js';
import { IDEMPOTENCY_KEY, idempotentUse, type IdempotentUse } from '../platform/http/idempotency-keys.js';
import { callerOf, type CalledRequest } from './access.js';
import { principalOf } from './caller.js';

/**
 * Repeatable injects the IdempotentUse of the call, or undefined if the call has no Idempotency-Key header. The service claims the IdempotentUse in the
 * transaction that writes the resource. Two calls count as the same call if their caller, handler, path parameters and body are equal.
 */
export const Repeatable = createParamDecorator(
  (_: unknown, context: ExecutionContext): IdempotentUse | undefined => {
    const request = context.switchToHttp().getRequest<CalledRequest>();
    const { headers, params, body } = request;
    const principal = principalOf(callerOf(request));
    const operation = context.getHandler().name;
    return idempotentUse(headers['idempotency-key'], {
      principal,
      operation,
      body: { params, body },
      resource: newId(),
    });
  },
  [describesHeader(IDEMPOTENCY_KEY)],
);

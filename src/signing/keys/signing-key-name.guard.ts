import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { type CalledRequest, callerOf } from '../../access/access.js';
import { assertIncludesKey } from '../../access/key-patterns.js';
import { isId } from '../../platform/database/new-id.js';
import { truncate } from '../../platform/text/truncate.js';

/**
 * SigningKeyNameGuard refuses the name of a signing key in a path if the caller cannot use the key. It runs before SigningKeyName looks the name up, so that
 * the caller learns neither whether the key exists nor the key's ID.
 */
@Injectable()
export class SigningKeyNameGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<CalledRequest>();
    const { id } = request.params as { id?: string };
    if (id !== undefined && !isId(id)) assertIncludesKey(callerOf(request), id, truncate(id, 63));
    return true;
  }
}

import { useQuery } from '@tanstack/react-query';
import { getOAuthMetadataOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { type Scope, useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';

/** useScopeOptions returns the scopes that the person may grant, which are those they hold. */
export function useScopeOptions() {
  const { may } = useSession();
  const { named } = useI18n();
  const { data } = useQuery({ ...getOAuthMetadataOptions(), staleTime: Infinity });
  return (data?.scopes_supported ?? [])
    .filter((scope) => may(scope as Scope))
    .map((scope) => ({ value: scope, label: scope, hint: named('scope', scope, '') }));
}

import { Content } from '@patternfly/react-core';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { listUsers } from '../api/generated/sdk.gen.js';
import type { UserPage, UserView } from '../api/generated/types.gen.js';
import { useSession } from '../app/session.js';
import { useI18n } from '../i18n/i18n.js';
import type { Option } from './form-fields.js';

const PAGE_SIZE = 200;
const MAX_PAGES = 25;
const FRESH_MS = 300_000;
const MAX_SHOWN = 5;

async function readUsers(): Promise<readonly UserView[]> {
  const users: UserView[] = [];
  let cursor: string | null | undefined;
  for (let page = 0; page < MAX_PAGES && cursor !== null; page += 1) {
    const query = { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) };
    const { items, nextCursor }: UserPage = (await listUsers({ query })).data;
    users.push(...items);
    cursor = nextCursor;
  }
  return users;
}

/** useUsers reads the users once for all pages and caches them for five minutes. It is disabled without `users:read`. */
function useUsers(): UseQueryResult<readonly UserView[]> {
  const { may } = useSession();
  return useQuery({ queryKey: ['users'], queryFn: readUsers, enabled: may('users:read'), staleTime: FRESH_MS });
}

/** useUserOptions returns the active users as form options, or undefined if they are not known. */
export function useUserOptions(): Option[] | undefined {
  return useUsers()
    .data?.filter(({ disabled }) => !disabled)
    .map(({ id, email }) => ({ value: id, label: email }));
}

/** useNameOf returns a function from user ID to name. The function returns undefined for unknown IDs and for callers who may not view users. */
export function useNameOf(): (id: string) => string | undefined {
  const { caller } = useSession();
  const { data } = useUsers();
  return (id) => (id === caller?.id ? caller.name : data?.find((user) => user.id === id)?.email);
}

/** Person shows a user by name, or by ID if the name is not known. */
export function Person({ id }: { id: string }) {
  const nameOf = useNameOf();
  return nameOf(id) ?? <span className="sw-mono">{id}</span>;
}

/** People shows the first of several users by name and the number of other users. */
export function People({ ids }: { ids: readonly string[] }) {
  const { t } = useI18n();
  const nameOf = useNameOf();
  const shown = ids.slice(0, MAX_SHOWN).map((id) => nameOf(id) ?? id);
  const more = ids.length - shown.length;
  return (
    <>
      {shown.join(', ')}
      {more > 0 && (
        <Content component="small" className="sw-muted">
          {t('people.more', { count: more })}
        </Content>
      )}
    </>
  );
}

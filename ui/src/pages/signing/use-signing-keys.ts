import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { listSigningKeysOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { SigningKeyView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import type { Option } from '../../patterns/form-fields.js';

/** Purposes of keys that sign files: what OpenPGP, SSH and TLS sign is composed by their own programs. */
const OF_FILES = ['signing', 'code-signing', 'documents'];

/** Signing keys for files; empty without `signing-keys:read`. */
export function useSigningKeys(): UseQueryResult<readonly SigningKeyView[], unknown> {
  const { may } = useSession();
  return useQuery({
    ...listSigningKeysOptions({ query: { limit: 200 } }),
    enabled: may('signing-keys:read'),
    select: ({ items }) => items.filter(({ state, purpose }) => state === 'ACTIVE' && OF_FILES.includes(purpose)),
  });
}

/** Label of a key in a choice. */
export const keyOption = ({ name, type }: SigningKeyView): Option => ({ value: name, label: `${name} (${type})` });

import { useQuery } from '@tanstack/react-query';
import { listHostsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { useSession } from '../../app/session.js';
import { Go } from '../../patterns/go.js';

const SHORT_ID = 13;

/** A host by name, or by the beginning of its id where the reader may not see hosts. The names are read once for all links. */
export function HostLink({ id }: { id: string }) {
  const { may } = useSession();
  const { data } = useQuery({ ...listHostsOptions({ query: { limit: 200 } }), enabled: may('hosts:read') });
  const name = data?.items.find((host) => host.id === id)?.name ?? id.slice(0, SHORT_ID);
  return <Go to={`/hosts/${id}`}>{name}</Go>;
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process listens there already",
  EACCES: "this user may not listen there",
  EADDRNOTAVAIL: "this machine has no such address",
};

/**
 * Waits until a server listens. When it cannot, the error names the settings that say where.
 * @param settings such as `HOST and PORT`.
 */
export const listenOn = async <T>(settings: string, host: string, port: number, listen: () => Promise<T>): Promise<T> => {
  try {
    return await listen();
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? reasons[String(error.code)] : undefined;
    if (reason === undefined) throw error;
    throw new Error(`cannot listen on ${host} port ${port}: ${reason} (${settings})`, { cause: error });
  }
};

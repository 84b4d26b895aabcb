import { setTimeout as sleep } from "node:timers/promises";
import type { DescService } from "@bufbuild/protobuf";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import type { ServerReflection, ServerReflectionRequest } from "../../../../gen/grpc/reflection/v1/reflection_pb.ts";
import type {
  ServerReflection as ServerReflectionAlpha,
  ServerReflectionRequest as ServerReflectionRequestAlpha,
} from "../../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { file_latchkey_v2_errors } from "../../../../gen/latchkey/v2/errors_pb.ts";
import { reflectionAnswerInterval } from "../../http/limits.ts";
import { createDescriptorIndex, type DescriptorIndex } from "./descriptorIndex.ts";

type Question = ServerReflectionRequest["messageRequest"] | ServerReflectionRequestAlpha["messageRequest"];

/** The two versions have the same messages under two names. */
type Answer =
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: "allExtensionNumbersResponse"; value: { baseTypeName: string; extensionNumber: number[] } }
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

export interface ReflectionService {
  readonly v1: ServiceImpl<typeof ServerReflection>;
  readonly v1alpha: ServiceImpl<typeof ServerReflectionAlpha>;
}

/**
 * The requests as they come, until the signal is aborted. `Promise.race` with one promise of the end would keep all that
 * it ever raced against, for as long as the service runs.
 */
async function* until<T>(signal: AbortSignal, requests: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = requests[Symbol.asyncIterator]();
  while (!signal.aborted) {
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<T> | undefined>();
    const end = () => resolve(undefined);
    signal.addEventListener("abort", end);
    iterator.next().then(resolve, reject);
    const next = await promise.finally(() => signal.removeEventListener("abort", end));
    if (next === undefined || next.done) return;
    yield next.value;
  }
}

/**
 * Spaces out the answers of all streams together: each call resolves `interval` milliseconds after the one before it. A stream waits for one
 * answer at a time, so streams take turns, and unread requests stay in the client's flow-control window.
 */
const createThrottle = (interval: number): (() => Promise<void>) => {
  let last: Promise<void> = Promise.resolve();
  return () => {
    const turn = last;
    last = turn.then(() => sleep(interval, undefined, { ref: false }));
    return turn;
  };
};

const notFound = (what: string): Answer => ({
  case: "errorResponse",
  value: { errorCode: Code.NotFound, errorMessage: `There is no ${what}.` },
});

const files = (found: readonly Uint8Array[] | undefined, what: string): Answer =>
  found === undefined ? notFound(what) : { case: "fileDescriptorResponse", value: { fileDescriptorProto: [...found] } };

/**
 * `grpc.reflection` v1 and v1alpha (grpc §1): lets tools such as grpcurl list, describe and call the services without
 * their `.proto` files. A stream ends when the client has asked its last question, or when `draining` is aborted.
 *
 * @param waitForSlot waited for before each answer: an answer of up to 190 KB costs as much as many calls, and needs no credentials.
 */
export const createReflectionService = (
  services: readonly DescService[],
  draining: AbortSignal,
  waitForSlot: () => Promise<void> = createThrottle(reflectionAnswerInterval),
): ReflectionService => {
  // Serializing all descriptors is a large part of a start, and few ever ask for them.
  let known: DescriptorIndex | undefined;

  const answer = (question: Question): Answer => {
    known ??= createDescriptorIndex(services, [file_latchkey_v2_errors]);
    const index = known;
    switch (question.case) {
      case "fileByFilename":
        return files(index.byFilename(question.value), `file ${question.value}`);
      case "fileContainingSymbol":
        return files(index.bySymbol(question.value), `symbol ${question.value}`);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = question.value;
        return files(index.byExtension(containingType, extensionNumber), `extension ${extensionNumber} of ${containingType}`);
      }
      case "allExtensionNumbersOfType": {
        const numbers = index.extensionNumbers(question.value);
        if (numbers === undefined) return notFound(`message ${question.value}`);
        return { case: "allExtensionNumbersResponse", value: { baseTypeName: question.value, extensionNumber: [...numbers] } };
      }
      case "listServices":
        return { case: "listServicesResponse", value: { service: index.serviceNames.map((name) => ({ name })) } };
      default:
        return { case: "errorResponse", value: { errorCode: Code.InvalidArgument, errorMessage: "The request asks nothing." } };
    }
  };

  async function* answerAll<R extends ServerReflectionRequest | ServerReflectionRequestAlpha>(requests: AsyncIterable<R>) {
    for await (const request of until(draining, requests)) {
      await waitForSlot();
      if (draining.aborted) return;
      yield { validHost: request.host, originalRequest: request, messageResponse: answer(request.messageRequest) };
    }
  }
  return { v1: { serverReflectionInfo: answerAll }, v1alpha: { serverReflectionInfo: answerAll } };
};

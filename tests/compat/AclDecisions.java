import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.SecurityUtils;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/** Decides questions by Kafka's StandardAuthorizer. The file has sets of entries (A) with their questions (Q), each set
 * behind a line S; two characters are printed for each question: by name, and by type of resource. */
public class AclDecisions {
    public static void main(String[] arguments) throws Exception {
        Map<Uuid, StandardAcl> acls = new HashMap<>();
        boolean open = false;
        StandardAuthorizer authorizer = null;
        StringBuilder said = new StringBuilder();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] words = line.split("\t", -1);
            switch (words[0]) {
                case "S":
                    acls = new HashMap<>();
                    open = Boolean.parseBoolean(words[1]);
                    authorizer = null;
                    break;
                case "A":
                    acls.put(new Uuid(1, acls.size() + 1), new StandardAcl(
                        ResourceType.fromCode(Byte.parseByte(words[1])), words[3],
                        PatternType.fromCode(Byte.parseByte(words[2])), words[4], words[5],
                        AclOperation.fromCode(Byte.parseByte(words[6])),
                        AclPermissionType.fromCode(Byte.parseByte(words[7]))));
                    break;
                default:
                    if (authorizer == null) {
                        authorizer = made(acls, open);
                    }
                    said.append(answers(authorizer, words)).append(' ');
            }
        }
        System.out.println(said.toString().trim());
    }

    private static StandardAuthorizer made(Map<Uuid, StandardAcl> acls, boolean open) {
        StandardAuthorizer authorizer = new StandardAuthorizer();
        authorizer.configure(Map.of("node.id", "1", "super.users", "User:admin",
            "allow.everyone.if.no.acl.found", Boolean.toString(open)));
        authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        authorizer.loadSnapshot(acls);
        authorizer.completeInitialLoad();
        return authorizer;
    }

    private static String answers(StandardAuthorizer authorizer, String[] words) throws Exception {
        AclOperation operation = AclOperation.fromCode(Byte.parseByte(words[3]));
        ResourceType type = ResourceType.fromCode(Byte.parseByte(words[4]));
        Context context = new Context(SecurityUtils.parseKafkaPrincipal(words[1]), InetAddress.getByName(words[2]));
        Action action = new Action(operation, new ResourcePattern(type, words[5], PatternType.LITERAL), 1, false, false);
        boolean named = authorizer.authorize(context, List.of(action)).get(0) == AuthorizationResult.ALLOWED;
        boolean any = authorizer.authorizeByResourceType(context, operation, type) == AuthorizationResult.ALLOWED;
        return (named ? "1" : "0") + (any ? "1" : "0");
    }

    private record Context(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        public String listenerName() { return "PLAINTEXT"; }
        public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
        public int requestType() { return 0; }
        public int requestVersion() { return 0; }
        public String clientId() { return "test"; }
        public int correlationId() { return 1; }
    }
}

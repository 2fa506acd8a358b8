// A navigation client of a planner in C++: sets a destination, then prints each route and the progress along it.
//
//     planner LATITUDE LONGITUDE [NODE]
//
// It needs libzmq, libprotobuf and the .proto files, but no code of navbus. The user guide has the commands that build it.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <zmq.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include "navbus/v1/common.pb.h"
#include "navbus/v1/navigation.pb.h"
#include "navbus/v1/navigation_service.pb.h"
#include "navbus/v1/route.pb.h"
#include "navbus/v1/service_frame.pb.h"

namespace {

using navbus::v1::ServiceFrame;

// MARK: The registry

/// A running node: its endpoints and the boot id of its run.
struct Node {
    std::string pub, rpc;
    uint64_t boot_id = 0;
};

std::string variable(const char* name, const std::string& fallback) {
    const char* value = std::getenv(name);
    return value && *value ? value : fallback;
}

/// Returns the folder of a node in the file system, which is the registry.
std::string folder(const std::string& node) {
    const std::string runtime = variable("XDG_RUNTIME_DIR", "");
    const std::string usual = runtime.empty()
        ? variable("TMPDIR", "/tmp") + "/navbus-" + std::to_string(getuid()) : runtime + "/navbus";
    return variable("NAVBUS_DIR", usual) + "/" + variable("NAVBUS_DOMAIN", "0") + "/" + node;
}

/// Whether a process holds the node's lock; otherwise the announcement is stale.
bool is_alive(const std::string& node) {
    const int lock = open((folder(node) + "/lock").c_str(), O_RDONLY | O_CLOEXEC);
    if (lock < 0) return false;
    const bool is_free = flock(lock, LOCK_SH | LOCK_NB) == 0;
    close(lock);
    return !is_free;
}

/// Waits until a node serves Navigation; a starting node updates its announcement several times.
Node find(const std::string& name) {
    for (;; usleep(100'000)) {
        if (!is_alive(name)) continue;
        std::ifstream file(folder(name) + "/announcement.json");
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        google::protobuf::Struct json;
        if (!google::protobuf::util::JsonStringToMessage(text, &json).ok()) continue;
        const auto& fields = json.fields();
        if (!fields.count("endpoints") || !fields.count("services") || !fields.count("boot_id")) continue;
        for (const auto& service : fields.at("services").list_value().values()) {
            const auto& members = service.struct_value().fields();
            if (!members.count("name") || members.at("name").string_value() != "navbus.v1.Navigation") continue;
            const auto& endpoints = fields.at("endpoints").struct_value().fields();
            return {endpoints.at("pub").string_value(), endpoints.at("rpc").string_value(),
                    std::stoull(fields.at("boot_id").string_value(), nullptr, 16)};
        }
    }
}

// MARK: Sockets

using Frames = std::vector<std::string>;

/// A ZeroMQ socket whose messages are lists of frames.
class Socket {
public:
    Socket(void* context, int type, const std::string& endpoint) : socket_(zmq_socket(context, type), zmq_close) {
        const int none = 0;
        zmq_setsockopt(socket_.get(), ZMQ_LINGER, &none, sizeof none);
        if (zmq_connect(socket_.get(), endpoint.c_str()) != 0) throw std::runtime_error(endpoint + ": " + zmq_strerror(errno));
    }

    /// Subscribes to a topic. The NUL ends the name, so that no other topic matches.
    void subscribe(const std::string& topic) {
        zmq_setsockopt(socket_.get(), ZMQ_SUBSCRIBE, topic.c_str(), topic.size() + 1);
    }

    void send(const Frames& frames) {
        for (size_t i = 0; i < frames.size(); ++i)
            zmq_send(socket_.get(), frames[i].data(), frames[i].size(), i + 1 < frames.size() ? ZMQ_SNDMORE : 0);
    }

    /// Returns the next message; none after the given time. -1 waits forever.
    Frames receive(long milliseconds) {
        zmq_pollitem_t item{socket_.get(), 0, ZMQ_POLLIN, 0};
        Frames frames;
        if (zmq_poll(&item, 1, milliseconds) <= 0) return frames;
        for (int more = 1; more;) {
            zmq_msg_t part;
            zmq_msg_init(&part);
            if (zmq_msg_recv(&part, socket_.get(), 0) < 0) break;
            frames.emplace_back(static_cast<const char*>(zmq_msg_data(&part)), zmq_msg_size(&part));
            more = zmq_msg_more(&part);
            zmq_msg_close(&part);
        }
        return frames;
    }

private:
    std::unique_ptr<void, int (*)(void*)> socket_;
};

// MARK: Calls

/// A client of the navigation node's service, with one call at a time.
class Client {
public:
    Client(void* context, const Node& node) : socket_(context, ZMQ_DEALER, node.rpc), boot_id_(node.boot_id) {}

    /// Calls a unary method and returns its answer; throws the status if the call fails or times out.
    template <typename Answer>
    Answer call(const std::string& method, const google::protobuf::Message& request, std::chrono::milliseconds timeout) {
        ServiceFrame frame;
        frame.set_kind(navbus::v1::SERVICE_FRAME_KIND_REQUEST);
        frame.set_call_id(++last_call_);
        frame.set_service("navbus.v1.Navigation");
        frame.set_method(method);
        frame.set_timeout_ns(std::chrono::nanoseconds(timeout).count());
        frame.set_server_boot_id(boot_id_);
        frame.set_expects(1);
        socket_.send({frame.SerializeAsString(), request.SerializeAsString()});

        const auto deadline = std::chrono::steady_clock::now() + timeout;
        for (;;) {
            const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
            const Frames frames = rest.count() > 0 ? socket_.receive(rest.count()) : Frames();
            if (frames.empty()) throw std::runtime_error(method + " was not answered in time");
            ServiceFrame end;
            if (frames.size() != 2 || !end.ParseFromString(frames[0])) continue;
            // Late answers to abandoned calls are ignored.
            if (end.kind() != navbus::v1::SERVICE_FRAME_KIND_END || end.call_id() != last_call_) continue;
            Answer answer;
            if (!end.has_response() || !answer.ParseFromString(frames[1]))
                throw std::runtime_error(method + ": status " + std::to_string(end.code()) + ": " + end.message());
            return answer;
        }
    }

private:
    Socket socket_;
    uint64_t boot_id_, last_call_ = 0;
};

// MARK: Messages

struct Place {
    double latitude, longitude;
};

/// Decodes a line: running sums of the deltas, in 1e-7 degrees, modulo 2^32.
std::vector<Place> points(const navbus::v1::Polyline& line) {
    std::vector<Place> result;
    uint32_t latitude = 0, longitude = 0;
    for (int i = 0; i < line.lat_deltas_e7_size(); ++i) {
        latitude += static_cast<uint32_t>(line.lat_deltas_e7(i));
        longitude += static_cast<uint32_t>(line.lon_deltas_e7(i));
        result.push_back({static_cast<int32_t>(latitude) * 1e-7, static_cast<int32_t>(longitude) * 1e-7});
    }
    return result;
}

void print(const navbus::v1::Route& route) {
    if (!route.has_geometry()) {
        std::printf("no route\n");
        return;
    }
    const auto line = points(route.geometry());
    std::printf("route %llu: %.0f m, %.0f s, %zu points from %.5f,%.5f to %.5f,%.5f\n",
                static_cast<unsigned long long>(route.route_id()), route.summary().distance_m(), route.summary().duration_s(),
                line.size(), line.front().latitude, line.front().longitude, line.back().latitude, line.back().longitude);
}

void print(const navbus::v1::RouteProgress& progress) {
    std::printf("%.0f m to go on %s, next maneuver %s in %.0f m\n", progress.distance_remaining_m(),
                progress.has_road_name() ? progress.road_name().c_str() : "a road without a name",
                navbus::v1::ManeuverType_Name(progress.next_maneuver_type()).c_str(), progress.step_distance_remaining_m());
}

void run(const Place& destination, const std::string& name) {
    const std::unique_ptr<void, int (*)(void*)> context(zmq_ctx_new(), zmq_ctx_term);
    const Node node = find(name);
    // Subscribes before the call, so that no resulting message is missed.
    Socket topics(context.get(), ZMQ_SUB, node.pub);
    topics.subscribe("/nav/route");
    topics.subscribe("/nav/progress");

    navbus::v1::SetRouteRequest request;
    auto* place = request.mutable_calculate()->add_waypoints();
    place->set_latitude(destination.latitude);
    place->set_longitude(destination.longitude);
    Client client(context.get(), node);
    const auto answer = client.call<navbus::v1::SetRouteResponse>("SetRoute", request, std::chrono::seconds(10));
    if (answer.has_error()) throw std::runtime_error("no route: " + answer.error().message());

    for (;;) {
        const Frames frames = topics.receive(1000);
        if (frames.empty() && !is_alive(name)) throw std::runtime_error(name + " has ended");
        if (frames.size() != 3) continue;
        const std::string topic = frames[0].c_str();
        navbus::v1::Route route;
        navbus::v1::RouteProgress progress;
        if (topic == "/nav/route" && route.ParseFromString(frames[2])) print(route);
        if (topic == "/nav/progress" && progress.ParseFromString(frames[2])) print(progress);
        std::fflush(stdout);
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        std::fprintf(stderr, "usage: planner LATITUDE LONGITUDE [NODE]\n");
        return 2;
    }
    try {
        run({std::atof(arguments[1]), std::atof(arguments[2])}, count > 3 ? arguments[3] : "navigation-node");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 1;
    }
}
